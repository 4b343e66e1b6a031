/** install/install.sh with stand-ins for the programs that reach the cluster (law F88): what it applies. test/cluster/at-once.test.ts has real ones. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { folderWith, runCommand } from '../support/run-cli.ts';

const NOTE = 'echo "$(basename "$0") $*" >> "$CALLS"';
const TOOLS: Readonly<Record<string, string>> = {
  helm: NOTE,
  argocd: 'true',
  kubectl: `case " $* " in
    *" get deployment gitea-runners "*) echo example.com/image ;;
    *" -f - "*) sed -n 's/^  name: /applied /p' >> "$CALLS" ;;
    *) ${NOTE} ;;
  esac`,
};

/**
 * Runs the script. Returns its calls and the applied objects.
 * @param group a RunnerGroup of the folder that `init` wrote
 */
async function install(group: string, more: Readonly<Record<string, string>> = {}): Promise<string> {
  const folder = folderWith({ 'groups/ci.yaml': group, 'setup.sh': 'true\n', ...more });
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  for (const [name, script] of Object.entries(TOOLS))
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const calls = join(bin, 'calls');
  const env = {
    PATH: `${bin}:${process.env['PATH']}`,
    CALLS: calls,
    GITEA_API_TOKEN: 'a',
    GITEA_OWNER_TOKEN: 'b',
    IMAGE: 'example.com/image',
  };
  const { code, stderr } = await runCommand('sh', [resolve('install/install.sh'), folder], env, folder);
  expect(code, stderr).toBe(0);
  return readFileSync(calls, 'utf8');
}

const BY_POD = 'spec:\n  registrationToken: {secretRef: {name: gitea-runner, key: registration-token}}\n';
const BY_SERVE = 'spec:\n  registration:\n    by: serve\n    for: repository\n';
const VALUES = { 'values.yaml': 'image: {}\n' };

it.each([
  ['registers', BY_SERVE, true],
  ['does not register', BY_POD, false],
])('serve, if it %s runners, may create their Secrets, and else not', async (_, group, may) => {
  const [plain, helm] = [await install(group), await install(group, VALUES)];

  expect(plain.includes('applied gitea-runners-credentials\n')).toBe(may);
  expect(helm).toMatch(/^helm upgrade --install gitea-runners .*\/values\.yaml/);
  expect(helm.includes(' --set runnerCredentials.enabled=true\n')).toBe(may);
  // The chart makes them, and would not take over objects of somebody else.
  expect(helm).not.toContain('applied gitea-runners-credentials\n');
});
