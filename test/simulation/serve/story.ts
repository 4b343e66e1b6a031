/** `SEED=7 node scripts/run-ts.mjs test/simulation/serve/story.ts`: tells what happens in one history. */
import { FAULT_KINDS, makeHistory } from './make-history.ts';
import { runHistory } from './run.ts';

const seed = Number(process.env['SEED'] ?? 1);
const chosen = process.env['KINDS'];
const kinds = chosen === undefined ? undefined : FAULT_KINDS.filter((kind) => chosen.split(',').includes(kind));
const history = makeHistory(seed, kinds);
const { story, ...outcome } = await runHistory(history, { withStory: true });
process.stdout.write(`${JSON.stringify(history.apps)}\n${story.join('\n')}\n${JSON.stringify(outcome, null, 1)}\n`);
