/** Runs the program that users run, as Argo CD runs it: one process per look. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { document } from '../support/group-files.ts';
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
  /** Further fields of the spec. */
  readonly more?: Readonly<Record<string, unknown>>;
}

/** Writes one file per group into `folder`. */
export function writeGroups(folder: string, url: string, groups: readonly TestGroup[]): void {
  for (const { name, scope, labels, cap, secret = 'runner', more } of groups) {
    const spec = {
      ...(scope && { org: undefined, ...scope }),
      gitea: { url },
      labels,
      defaultLabels: false,
      containerMode: 'host',
      maxActiveRunners: cap,
      gracefulStopSeconds: 60,
      registrationToken: { secretRef: { name: secret, key: 'token' } },
      ...more,
    };
    writeFileSync(join(folder, `${name}.yaml`), document(spec, { name, namespace: 'runners' }));
  }
}

/** `gitea-runners generate FOLDER` with a token for the Gitea at `url`. */
export function generate(folder: string, url: string, token: string): Promise<Outcome> {
  return runCli(['generate', '--cluster', 'off', folder], { GITEA_URL: url, GITEA_TOKEN: token }, '.', 60_000);
}
