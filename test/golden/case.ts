/** Reads the folder of a case. What may be in it is told in README.md. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import * as z from 'zod';
import { readRunnerGroups } from '../../src/config/runnergroup/read.ts';
import type { RunnerGroup } from '../../src/config/runnergroup/runner-group.ts';
import { templateHash } from '../../src/manifests/app.ts';
import { toPlanned } from '../../src/plan/plan-groups.ts';
import { runnerName } from '../../src/planner/names.ts';
import { exampleApp } from '../support/platform-app.ts';
import { type Exchange, readAnswers } from './answers.ts';
import { type ClusterFile, type Secrets, TOKEN } from './stage.ts';

export const CASES = join(import.meta.dirname, 'cases');

/** A case as its folder says it. */
export interface Case {
  readonly folder: string;
  readonly groups: string;
  readonly env: Readonly<Record<string, string>>;
  readonly secrets: Secrets;
  readonly exchanges: readonly Exchange[];
  /** The moment of the story. */
  readonly nowMs: number;
  readonly cluster: ClusterFile | undefined;
  /** What the story is about; a new one is what it turns out to be when it is written (`UPDATE_GOLDENS=1`). */
  readonly expects: 'output' | 'error' | 'unknown';
  /** Its output is kept whole, in `expected.yaml`. */
  readonly isWhole: boolean;
}

const KNOWN =
  /^(?:groups|(?:gitea|cluster)\.json|(?:env|secrets|expected)\.yaml|(?:stderr|explain|expected|expected-error|got\..+)\.txt|got\..+)$/;
const Texts = z.record(z.string(), z.string());
const KubernetesObject = z.looseObject({ metadata: z.looseObject({ namespace: z.string() }) });
const Cluster = z.strictObject({
  jobs: z.array(KubernetesObject).default([]),
  pods: z.array(KubernetesObject).default([]),
  refused: z.record(z.string(), z.int()).default({}),
});
/** One Secret for all that need none of their own. */
const SECRETS: Secrets = { 'runners/gitea-api': { token: TOKEN, url: 'https://gitea.example.com' } };

/** Names of all cases. */
export function caseNames(): readonly string[] {
  return readdirSync(CASES).sort();
}

export async function readCase(name: string): Promise<Case> {
  const folder = join(CASES, name);
  const strange = readdirSync(folder).filter((file) => !KNOWN.test(file));
  if (strange.length > 0) throw new Error(`${name} holds ${strange.join(', ')}, which no case has`);
  const groups = join(folder, 'groups');
  const written = Texts.parse(readIf(folder, 'env.yaml', parseWithToken) ?? {});
  const env = Object.fromEntries(
    Object.entries(written).map(([name, text]) => [name, text === '$EXAMPLE_APP' ? exampleApp() : text]),
  );
  const raw = (text: string) => text;
  const fill = await filler(groups, env, [readIf(folder, 'gitea.json', raw), readIf(folder, 'cluster.json', raw)]);
  const exchanges = readIf(folder, 'gitea.json', (text) => readAnswers(fill(text))) ?? [];
  return {
    folder,
    groups,
    env,
    secrets: z.record(z.string(), Texts).parse(readIf(folder, 'secrets.yaml', parseWithToken) ?? SECRETS),
    exchanges,
    nowMs: momentOf(exchanges),
    cluster: readIf(folder, 'cluster.json', (text) => Cluster.parse(JSON.parse(fill(text)))),
    expects: expectationOf(folder),
    isWhole: existsSync(join(folder, 'expected.yaml')),
  };
}

/** One minute after the last list of jobs was recorded; 03:40 on the day of `answers.ts` when all are written by hand. */
function momentOf(exchanges: readonly Exchange[]): number {
  const lists = exchanges.filter(({ request }) => request.includes('/actions/jobs'));
  const times = lists.flatMap(({ recordedAtMs }) => recordedAtMs ?? []);
  return times.length === 0 ? Date.parse('2026-11-21T03:40:00Z') : Math.max(...times) + 60_000;
}

function parseWithToken(text: string): unknown {
  return parse(text.replaceAll('$TOKEN', TOKEN));
}

function expectationOf(folder: string): Case['expects'] {
  const there = ['expected.yaml', 'expected.txt', 'expected-error.txt'].filter((file) =>
    existsSync(join(folder, file)),
  );
  if (there.length > 1) throw new Error(`${folder} expects both ${there.join(' and ')}`);
  return there.length === 0 ? 'unknown' : there[0] === 'expected-error.txt' ? 'error' : 'output';
}

function readIf<T>(folder: string, file: string, read: (text: string) => T): T | undefined {
  const path = join(folder, file);
  return existsSync(path) ? read(readFileSync(path, 'utf8')) : undefined;
}

/** `${ci-7-1#0}`: the name that group ci gives its first runner for job 7, attempt 1. Written out it would change with every image. */
const NAME = /\$\{([a-z0-9-]+)-(\d+)-(\d+)#(\d+)\}/g;

export async function groupsIn(folder: string): Promise<readonly RunnerGroup[]> {
  return (await readRunnerGroups({ paths: [], recursive: false, cwd: folder, defaultNamespace: 'default' })).groups;
}

/** Replaces `${…}` by runner names. The groups are read only when there is one: in some cases they cannot be. */
async function filler(
  cwd: string,
  env: Case['env'],
  texts: readonly (string | undefined)[],
): Promise<(text: string) => string> {
  if (!texts.some((text) => text?.includes('${'))) return (text) => text;
  const groups = await groupsIn(cwd);
  return (text) =>
    text.replace(NAME, (_, name: string, id: string, attempt: string, ordinal: string) => {
      const group = groups.find((one) => one.name === name);
      if (!group) throw new Error(`no group ${name} for its runner`);
      return nameOf(group, env['GITEA_RUNNERS_INSTANCE'] ?? '', Number(id), Number(attempt), Number(ordinal));
    });
}

function nameOf(group: RunnerGroup, instance: string, id: number, attempt: number, ordinal: number): string {
  const madeFor = id === 0 ? { poolIndex: attempt } : { id, attempt };
  return runnerName(instance, toPlanned(group, '', templateHash(group)), madeFor, ordinal);
}
