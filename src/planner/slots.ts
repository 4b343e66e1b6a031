/**
 * The slots of a pool and the names of their runners. A slot takes the place of a job in the name, with job id 0:
 *
 *     ci-0-2-9c31e0aa     the runner of slot 2 of group ci
 *
 * A slot goes round a ring of names. Its next name stands behind the names that are known. So no runner gets the name of a Job that
 * exists, or of a runner that is used up. "The lowest name that is free" would not do. When Gitea forgets the oldest runner of a slot,
 * its name is free again. Then the runner that is just starting unseen would be exchanged for it.
 */
import { type RunnerNamer, slotStay } from './names.ts';

/**
 * Names in the ring of a slot. More than a slot uses up while Gitea's newest jobs (150) and Kubernetes' ended Jobs are seen, in any CI
 * but the shortest. When all are known, further ones are used.
 */
export const RING = 128;

/** The next name of a slot: the one after the known names. They stand in a row, so they end where the most free names follow. */
export function nextSlotName(nameOf: RunnerNamer, slot: number, isKnown: (name: string) => boolean): string {
  const stay = slotStay(slot);
  const ring = Array.from({ length: RING }, (_, ordinal) => ordinal);
  const known = ring.filter((ordinal) => isKnown(nameOf(stay, ordinal)));
  const [first = 0] = known;
  const toNext = known.map((ordinal, nth) => (known[nth + 1] ?? RING + first) - ordinal);
  const last = known[toNext.indexOf(Math.max(...toNext))] ?? -1;
  if (known.length < RING) return nameOf(stay, (last + 1) % RING);
  for (let ordinal = RING; ; ordinal += 1) {
    const name = nameOf(stay, ordinal);
    if (!isKnown(name)) return name;
  }
}
