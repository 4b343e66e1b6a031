/** Law L25 in `serve`: each look asks which bound runners are at work now. */
import { expect, test } from 'vitest';
import type { BoundRunner } from '../../../src/clients/gitea/bound-rows.ts';
import { fakeGitea, jobRow } from '../../support/gitea-stand-in.ts';
import { targetOf } from '../../support/looking.ts';
import { until } from '../rig.ts';
import { openPoller } from './open-poller.ts';

test('a look of serve reads the rows of the bound runners of that moment', async () => {
  const gitea = await fakeGitea({ jobs: [jobRow(1)] });
  let bound: readonly BoundRunner[] = [];
  let looks = 0;
  const { poller } = openPoller({
    pollMs: 20,
    boundRunners: async () => bound,
    onLook: () => {
      looks += 1;
    },
  });
  const target = targetOf(gitea.url);
  const asked = (): readonly string[] => gitea.lines().filter((line) => line.includes('/repos/'));

  poller.watch(new Map([[target, new Set(['runners'])]]));
  await until('it has looked', () => looks > 0);
  expect(asked()).toEqual([]);
  bound = [{ name: 'ci-1', boundTo: 'acme/web' }];
  poller.nudge(() => true);
  await until('it has asked', () => asked().length > 0);

  expect(new Set(asked())).toEqual(new Set(['/api/v1/repos/acme/web/actions/runners?page=1']));
});
