/** Runs the program that users run, as Argo CD runs it: one process per look. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { type Outcome, runCli } from '../support/run-cli.ts';

/** A RunnerGroup of the tests: host mode, so no docker is needed. */
export interface TestGroup {
  readonly name: string;
  /** `{scope: 'user', user: 'mia'}` and the like. Default: org acme. */
  readonly scope?: Readonly<Record<string, string>>;
  readonly labels: readonly string[];
  readonly cap: number;
  /** Secret with the registration token of the scope; its key is `token`. Default: `runner`. */
  readonly secret?: string;
  /** More of the spec. */
  readonly more?: Readonly<Record<string, unknown>>;
}

const ACME = { scope: 'org', org: 'acme' };

/** Writes one file per group into `folder`. */
export function writeGroups(folder: string, url: string, groups: readonly TestGroup[]): void {
  for (const { name, scope = ACME, labels, cap, secret = 'runner', more } of groups) {
    const spec = {
      ...scope,
      gitea: { url },
      labels,
      defaultLabels: false,
      containerMode: 'host',
      maxActiveRunners: cap,
      gracefulStopSeconds: 60,
      registrationToken: { secretRef: { name: secret, key: 'token' } },
      authToken: { secretRef: { name: 'not-mounted', key: 'token' } },
      ...more,
    };
    const metadata = { name, namespace: 'runners' };
    const group = { apiVersion: 'gitea.bpg.pw/v1alpha1', kind: 'RunnerGroup', metadata, spec };
    writeFileSync(join(folder, `${name}.yaml`), stringify(group));
  }
}

/** `gitea-runners generate FOLDER` with a token for the Gitea at `url`. */
export function generate(folder: string, url: string, token: string): Promise<Outcome> {
  return runCli(['generate', '--cluster', 'off', folder], { GITEA_URL: url, GITEA_TOKEN: token }, '.', 60_000);
}
