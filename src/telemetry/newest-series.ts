/**
 * Keeps a counter or histogram to its newest label sets. Groups, Applications and Giteas come and go, and the authors of RunnerGroups choose
 * their names. The label set that was not used for longest is forgotten first.
 */
import { LRUCache } from 'lru-cache';

/** Label sets of one metric. More groups than that are not served by one process. */
export const MOST_LABEL_SETS = 5_000;

type Labels = Readonly<Record<string, string>>;

/** Answers a function that is told of each label set that is used. @param remove forgets one. */
export function newestOnly(remove: (labels: Labels) => void): (labels: Labels) => void {
  const known = new LRUCache<string, Labels>({
    max: MOST_LABEL_SETS,
    dispose: (labels, _key, reason) => {
      if (reason === 'evict') remove(labels);
    },
  });
  return (labels) => void known.set(JSON.stringify(labels), labels);
}
