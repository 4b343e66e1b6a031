/**
 * Patterns of a policy: every character stands for itself, `*` for any characters but a slash, `**` for any characters. No regular
 * expressions: the text comes from a repository's author, and a match must not take long (test/config/policy/hostile.test.ts).
 */

/** One step of a pattern: a character, or one of the two stars. */
type Step = string;

/**
 * True when the whole text fits. Compares code units: no case folding, no Unicode normalisation, so what only looks alike does not
 * fit. Reads the text once and keeps the set of places where the pattern may stand: at most `pattern × text` steps.
 */
export function matchesGlob(pattern: string, text: string): boolean {
  const steps = stepsOf(pattern);
  let places = withEmptyStars(new Set([0]), steps);
  for (let at = 0; at < text.length && places.size > 0; at += 1) {
    places = withEmptyStars(placesAfter(places, steps, text.charAt(at)), steps);
  }
  return places.has(steps.length);
}

/** True when one of the patterns fits. */
export function matchesAny(patterns: readonly string[], text: string): boolean {
  return patterns.some((pattern) => matchesGlob(pattern, text));
}

function stepsOf(pattern: string): readonly Step[] {
  return pattern.match(/\*\*+|[\s\S]/g) ?? [];
}

function placesAfter(places: ReadonlySet<number>, steps: readonly Step[], character: string): Set<number> {
  const after = new Set<number>();
  for (const place of places) {
    const step = steps[place];
    if (isStar(step) ? step !== '*' || character !== '/' : false) after.add(place);
    else if (!isStar(step) && step === character) after.add(place + 1);
  }
  return after;
}

/** A star may stand for nothing. */
function withEmptyStars(places: Set<number>, steps: readonly Step[]): Set<number> {
  // A set also visits what is added on the way.
  for (const place of places) if (isStar(steps[place])) places.add(place + 1);
  return places;
}

function isStar(step: Step | undefined): boolean {
  return step?.startsWith('*') === true;
}
