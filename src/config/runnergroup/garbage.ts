/**
 * Memory for large input. V8 lets garbage pile up until the heap has some 200 MB, because memory is cheap where it is usually
 * run. In the sidecar many processes share one limit. Five documents of 78,000 words take 85 MB (Node 20) and 99 MB (Node 24)
 * with both functions; without them 290 MB, with `collectGarbage` alone 117 and 211 MB.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** The room for young objects stays as large as it is now. V8 doubles it again and again, to 48 MB (Node 20) or 96 MB (Node 24). */
export function keepHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
}

let collect: (() => void) | undefined;

/** Collects what was made of a large document before the next one is parsed. Costs about 30 ms. */
export function collectGarbage(): void {
  if (!collect) {
    // The function `gc` exists in contexts that are made after this flag was set.
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc') as () => void;
  }
  collect();
}
