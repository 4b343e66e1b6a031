import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { formatProblem, InputProblems } from '../../src/config/runnergroup/problems.ts';
import { type ReadOptions, type ReadResult, readRunnerGroups } from '../../src/config/runnergroup/read.ts';
import type { RunnerGroup } from '../../src/config/runnergroup/runner-group.ts';

/** Files by name; a folder is made for each. */
export type Files = Readonly<Record<string, string | Uint8Array>>;

/** Runs `work` in a new folder with these files and removes it. */
export async function inFolder<T>(files: Files, work: (cwd: string) => Promise<T>): Promise<T> {
  const cwd = mkdtempSync(join(tmpdir(), 'runnergroup-'));
  try {
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(dirname(join(cwd, name)), { recursive: true });
      writeFileSync(join(cwd, name), content);
    }
    return await work(cwd);
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
}

/** Reads these files as `generate .` would. */
export function readFiles(files: Files, change: Partial<ReadOptions> = {}): Promise<ReadResult> {
  return inFolder(files, (cwd) =>
    readRunnerGroups({ paths: [], recursive: false, cwd, defaultNamespace: 'default', ...change }),
  );
}

/** Returns all problems as they are printed. Empty if there are none. */
export async function problemsIn(files: Files, change: Partial<ReadOptions> = {}): Promise<readonly string[]> {
  try {
    await readFiles(files, change);
    return [];
  } catch (error) {
    if (error instanceof InputProblems) return error.problems.map(formatProblem);
    throw error;
  }
}

/** Changes of the spec below; `undefined` leaves a field out. */
export type Spec = Readonly<Record<string, unknown>>;

/** A document as JSON, which is YAML too: fields are where they were put. */
export function document(spec: Spec = {}, metadata: Spec = {}): string {
  return JSON.stringify({
    apiVersion: 'gitea.bpg.pw/v1alpha1',
    kind: 'RunnerGroup',
    metadata: { name: 'ci', ...metadata },
    spec: {
      scope: 'org',
      org: 'acme',
      gitea: { url: 'https://gitea.example.com' },
      maxActiveRunners: 10,
      registrationToken: { secretRef: { name: 'gitea-runner', key: 'registration-token' } },
      authToken: { secretRef: { name: 'gitea-api', key: 'token' } },
      ...spec,
    },
  });
}

/** Makes a document with requests and a namespace: `validate` has no warning. */
export function quietDocument(spec: Spec = {}, metadata: Spec = {}): string {
  return document({ resources: { requests: { cpu: '1' } }, ...spec }, { namespace: 'runners', ...metadata });
}

/** The group that this spec makes. */
export async function groupOf(spec: Spec, metadata: Spec = {}): Promise<RunnerGroup> {
  const { groups } = await readFiles({ 'ci.yaml': document(spec, metadata) });
  const [group] = groups;
  if (!group) throw new Error('no group was read');
  return group;
}

/** `path: message [code]` of each problem that this spec has. */
export async function complaintsOf(spec: Spec, metadata: Spec = {}): Promise<readonly string[]> {
  const lines = await problemsIn({ 'ci.yaml': document(spec, metadata) });
  return lines.map((line) => line.replace(/^ci\.yaml:\d+:\d+: /, ''));
}
