/** `SEED=7 node scripts/run-ts.mjs test/simulation/serve/story.ts`: tells what happens in one history. */
import { chosenKinds, makeHistory } from './make-history.ts';
import { runHistory } from './run.ts';

const seed = Number(process.env['SEED'] ?? 1);
const history = makeHistory(seed, chosenKinds());
const { story, ...outcome } = await runHistory(history, { withStory: true });
process.stdout.write(`${JSON.stringify(history.apps)}\n${story.join('\n')}\n${JSON.stringify(outcome, null, 1)}\n`);
