/** The answer that docs/explain.md shows is what the program prints. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { runHere } from '../support/run-cli.ts';
import { startAcme } from '../support/start-acme.ts';

it('the manual shows the lines of an answer, and how a full group is told', async () => {
  const { simulator, env, folder } = await startAcme();
  const { gitea } = simulator;
  const runsOn = ['linux'];
  gitea.push('acme/web', { jobs: [1, 2, 3, 4, 5, 6, 7].map((key) => ({ key: String(key), runsOn })) });
  const last = gitea.push('acme/web', { jobs: [{ key: 'unit', runsOn }] }).jobs[0];
  const { stdout: manifests } = await runHere(['generate'], env, folder);
  for (const name of new Set(manifests.match(/\bci-\d+-1-[0-9a-f]{8}\b/g))) {
    const scope = { kind: 'owner', owner: 'acme' } as const;
    gitea.poll(gitea.register({ name, scope, labels: runsOn, ephemeral: true }).id);
  }

  const { stdout } = await runHere(['explain', String(last?.id)], { ...env, COLUMNS: '500' }, folder);

  const [, shown = ''] = /```text\n(Job [^`]*)```/.exec(readFileSync('docs/explain.md', 'utf8')) ?? [];
  expect(linesOf(shown)).toEqual(linesOf(stdout));
});

/** Returns the lines that do not depend on the moment, the repository and the estimate. */
function linesOf(answer: string): readonly string[] {
  return answer
    .trimEnd()
    .split('\n')
    .map((line) =>
      line
        .replace(/https?:\/\/\S+/, 'URL')
        .replace(/ci-\d+-1-[0-9a-f]{8}/, 'RUNNER')
        .replace(/(?:Job|job) \d+ "\w+" of [\w/]+/, 'JOB')
        .replace(/· \S+ · [0-9a-f]{7}$/, 'PUSH')
        .replace(/^ {2}Run: +[\w/]+/, '  Run:      REPOSITORY')
        .replace(/created .* ago \(.*?\)/, 'CREATED')
        .replace(/; (?:about|the estimate) .*/, '')
        .replace(/ for \w+$/, ' for AGE'),
    );
}
