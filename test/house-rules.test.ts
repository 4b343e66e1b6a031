/** Rules that hold over the whole of `src`. Who may import whom: test/import-rules.test.ts. Import circles: biome.json. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const files = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => ({ file: join('src', file), text: readFileSync(join('src', file), 'utf8') }));

const MOST_LINES = 300;

/** `name` of each exported interface, type and class. */
function exportedTypes(text: string): readonly string[] {
  const found = text.matchAll(/^export (?:declare )?(?:abstract )?(?:interface|type|class) (\w+)/gm);
  return [...found].map(([, name = '']) => name);
}

/** `name` of each exported function. */
function exportedFunctions(text: string): readonly string[] {
  return [...text.matchAll(/^export (?:async )?function\*? (\w+)/gm)].map(([, name = '']) => name);
}

/** The files that export each name. */
function homesOf(namesIn: (text: string) => readonly string[], among = files): ReadonlyMap<string, readonly string[]> {
  const homes = new Map<string, string[]>();
  for (const { file, text } of among) {
    for (const name of new Set(namesIn(text))) homes.set(name, [...(homes.get(name) ?? []), file]);
  }
  return homes;
}

/** A program starts with its `main`. Checks of `doctor` are called by what they check. The simulator is a foreign server. */
const OWN_NAMES = /^src\/(?:cli\.ts|start\/|cli\/doctor\/|simulator\/)/;
/** `src/pods` and `src/runnergroup` may not import each other. */
const TWICE = ['isMapping'];

describe('one word means one thing', () => {
  it('no two files export a type of one name', () => {
    const homes = homesOf(exportedTypes);
    const twice = [...homes].filter(([, at]) => at.length > 1);

    expect(homes.size).toBeGreaterThan(200);
    expect(twice).toEqual([]);
  });

  it('no two files export a function of one name', () => {
    const homes = homesOf(
      exportedFunctions,
      files.filter(({ file }) => !OWN_NAMES.test(file)),
    );
    const twice = [...homes].flatMap(([name, at]) => (at.length > 1 ? name : []));

    expect(homes.size).toBeGreaterThan(500);
    expect(twice).toEqual(TWICE);
  });
});

describe('a file holds one thought', () => {
  it(`and says why when it has more than ${MOST_LINES} lines: "Long because: …" in its first comment`, () => {
    const long = files.filter(({ text }) => text.split('\n').length - 1 > MOST_LINES);
    const silent = long.filter(
      ({ text }) => !/Long because: \S/.test(/^(?:#!.*\n)?\/\*\*[\s\S]*?\*\//.exec(text)?.[0] ?? ''),
    );

    expect(silent.map(({ file }) => file)).toEqual([]);
  });
});

it('URLs are parsed by src/parse-url.ts: URL.canParse of Node 20 is sometimes wrong', () => {
  expect(files.filter(({ text }) => text.includes('URL.canParse(')).map(({ file }) => file)).toEqual([]);
});

it('only src/clock.ts knows the time: whatever waits has a clock handed in', () => {
  const rooms = /^src\/(?:argocd|gitea|http|kubernetes|look|serve|sweep|tokens|tracing)\//;
  const knows =
    /\b(?:setTimeout|setInterval|Date\.now|performance\.now|process\.hrtime|Math\.random)\b|timers\/promises/;
  const found = files.filter(({ file, text }) => rooms.test(file) && knows.test(text));

  expect(found.map(({ file }) => file)).toEqual([]);
});
