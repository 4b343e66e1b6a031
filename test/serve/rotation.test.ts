/** A token that is replaced while `serve` runs: Gitea refuses the old one, and the new one is used at the next look. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { systemClock } from '../../src/shared/clock.ts';
import { folderWith } from '../support/run-cli.ts';
import { type Rig, startRig, until } from './rig.ts';

const OLD = 'old-token-of-this-test-0123456789';
const NEW = 'new-token-of-this-test-0123456789';

/** Puts a token where the group's Secret is; the Secret is bound to the rig's Gitea. */
type Put = (token: string) => void;

/** A Secret that is mounted as files. */
function mounted({ simulator }: Rig): { readonly put: Put; readonly options: { readonly secretsDir: string } } {
  const secretsDir = folderWith({});
  const folder = join(secretsDir, 'gitea-api');
  mkdirSync(folder);
  writeFileSync(join(folder, 'url'), simulator.url);
  return { put: (token) => writeFileSync(join(folder, 'token'), token), options: { secretsDir } };
}

/** A Secret in the group's namespace. */
function inCluster({ simulator, cluster }: Rig): { readonly put: Put; readonly options: { readonly secrets: 'api' } } {
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const put: Put = (token) =>
    cluster.put('secrets', {
      metadata: { namespace: 'runners', name: 'gitea-api' },
      data: { token: base64(token), url: base64(simulator.url) },
    });
  return { put, options: { secrets: 'api' } };
}

it.each([
  ['files', mounted],
  ['api', inCluster],
])('a token that Gitea refuses is read again before the next look with --secrets %s', async (_, place) => {
  const rig = await startRig();
  const { put, options } = place(rig);
  rig.simulator.gitea.addToken('anna', ['read:organization'], OLD);
  put(OLD);
  let ahead = 0;
  const replica = await rig.start({ ...options, env: {}, clock: { ...systemClock, now: () => Date.now() + ahead } });
  await until('a good look', () => rig.conditions()['Ready'] === 'True Serving');

  rig.simulator.gitea.removeToken(OLD);
  await until('the refusal', () => rig.conditions()['GiteaReachable'] === 'False Unauthorized');
  expect(rig.conditions()['Ready']).toBe('False Unauthorized');
  rig.simulator.gitea.addToken('anna', ['read:organization'], NEW);
  put(NEW);
  // Tokens that nobody refuses are read every 30 s only.
  ahead = 6_000;

  await until('a look with the new token', () => rig.conditions()['Ready'] === 'True Serving');
  const told = JSON.stringify([replica.log, rig.cluster.all('runnergroups')]);
  for (const secret of [OLD, NEW]) expect(told).not.toContain(secret);
});
