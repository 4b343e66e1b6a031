/** `doctor` on a real cluster: before an installation, on a healthy one, and with one fault each. One stack for all. */
import { beforeAll, expect, it } from 'vitest';
import * as z from 'zod';
import { waitUntil } from '../servers/process.ts';
import { runCli } from '../support/run-cli.ts';
import { closeAfterTests } from './close-after-tests.ts';
import { BREAKS } from './doctor-breaks.ts';
import { ORG } from './install.ts';
import { addGroup, type Begun, begin, groupIsReady, oneJobSucceeds } from './one-job.ts';
import type { Stack } from './stack/stack.ts';

const Findings = z.object({
  findings: z.array(
    z.object({
      check: z.string(),
      is: z.enum(['good', 'bad', 'unknown']),
      text: z.string(),
      fix: z.string().optional(),
    }),
  ),
});
type Found = z.infer<typeof Findings>['findings'][number];

let stack: Stack;
let patient: Begun;

async function examine(env: Readonly<Record<string, string>> = {}): Promise<readonly Found[]> {
  const { stdout, stderr } = await runCli(['doctor', '--kubeconfig', stack.kubernetes.kubeconfig, '-A', '--json'], env);
  expect(stderr).toBe('');
  return Findings.parse(JSON.parse(stdout)).findings;
}

/** Stock Argo CD's. */
const DEFAULT_PROJECT = {
  check: 'projects in Argo CD',
  is: 'unknown',
  text: 'project default has the destination runners',
};

const bad = (findings: readonly Found[]): readonly Found[] => findings.filter(({ is }) => is === 'bad');

/** Waits until it has no cross. */
async function whole(): Promise<void> {
  let last: readonly Found[] = [];
  const isWhole = async (): Promise<boolean> => {
    last = bad(await examine());
    return last.length === 0;
  };
  await waitUntil('all is well', isWhole, { timeoutMs: 180_000 }).catch((error: unknown) => {
    throw new Error(`${String(error)}: ${JSON.stringify(last)}`);
  });
}

beforeAll(async () => {
  patient = await begin('doctor');
  stack = patient.stack;
});

closeAfterTests(() => stack);

it('doctor says before the installation what is missing', async () => {
  const findings = await examine();

  expect(bad(findings).map(({ check }) => check)).toEqual([
    'CustomResourceDefinition',
    'sidecar in argocd-repo-server',
    'serve',
    'Secret of serve',
    'Service for webhooks',
    'account in Argo CD',
    'rights in Argo CD',
    'Application',
  ]);
  expect(bad(findings).filter(({ fix = '' }) => !/install\//.test(fix) && !/docs\/install/.test(fix))).toEqual([]);
});

it('doctor finds all good when the manual was followed', async () => {
  const { gitea } = stack;
  await patient.installation.install();
  await addGroup(stack);
  await groupIsReady(stack);
  await oneJobSucceeds(stack);
  await whole();

  const GITEA_TOKEN = await gitea.admin.createToken(['write:organization']);
  const findings = await examine({ GITEA_TOKEN, GITEA_URL: gitea.url });

  expect(findings.filter(({ is }) => is !== 'good')).toMatchObject([DEFAULT_PROJECT]);
  expect(findings.map(({ check, text }) => `${check}: ${text}`)).toEqual(
    expect.arrayContaining([
      `Gitea, org ${ORG}: ${gitea.url} (Gitea 1.27.3) answers, and shows its jobs and runners`,
      expect.stringMatching(/^webhook of org acme: to http:\S+\/webhook; the last delivery came at /),
      expect.stringMatching(/and it is that of its scope$/),
    ]),
  );
});

it('doctor cannot compare the registration token with a token that only reads, and says what to do', async () => {
  const findings = await examine();

  expect(findings.filter(({ is }) => is !== 'good')).toMatchObject([
    DEFAULT_PROJECT,
    { is: 'unknown', text: expect.stringContaining('was not compared'), fix: expect.stringContaining('GITEA_TOKEN') },
  ]);
});

it.each(BREAKS.map((each) => [each.name, each] as const))(
  'doctor finds it when %s',
  async (_, { make, crosses, env }) => {
    await whole();
    const environment = await env?.(patient);
    const mend = await make(patient);
    let found: readonly Found[] = [];
    try {
      found = bad(await examine(environment));

      expect(found).toMatchObject(
        crosses.map(({ check, says, fix }) => ({
          check,
          text: expect.stringContaining(says),
          fix: expect.stringContaining(fix),
        })),
      );
    } finally {
      if (mend) await mend();
      else await patient.installation.shell('mend', found[0]?.fix ?? 'false');
    }
    await whole();
  },
);
