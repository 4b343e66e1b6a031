/** Whole outputs of `generate` and `explain`, one folder per story. README.md tells how to add one. */
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import * as z from 'zod';
import type { Explanation } from '../../src/answers/model.ts';
import { explain } from '../../src/cli/commands/explain.ts';
import { generate } from '../../src/cli/commands/generate.ts';
import { explainText } from '../../src/cli/explain/explain-text.ts';
import { reportFailure } from '../../src/cli/process.ts';
import type { Mapping } from '../../src/config/pods/pod-schema.ts';
import { securityViolations } from '../../src/config/pods/pod-security.ts';
import type { RunnerGroup } from '../../src/config/runnergroup/runner-group.ts';
import type { ExitCode, Io } from '../../src/shared/io.ts';
import { printingIo } from '../support/printing-io.ts';
import { CASES, type Case, caseNames, groupsIn, readCase } from './case.ts';
import { compact } from './compact.ts';
import { seenInAnswers, seenInExplanation, seenInGroups, WANTED } from './coverage.ts';
import { expectFile, isUpdating } from './golden-file.ts';
import { podsOf } from './golden-pods.ts';
import { openStage, type Stage, TOKEN } from './stage.ts';

/** What the cases have shown so far. */
const seen = new Set<string>();

function see(kinds: readonly string[]): void {
  for (const kind of kinds) seen.add(kind);
}

interface Outcome {
  readonly code: ExitCode;
  readonly out: string;
  readonly err: string;
}

/** Runs a command as `src/cli/cli.ts` does, in this process. */
async function run(
  command: (io: Io) => Promise<ExitCode>,
  { groups, env, nowMs }: Case,
  stage: Stage,
): Promise<Outcome> {
  const { io, printed } = printingIo({ env: { ...stage.env, ...env }, cwd: groups, now: () => nowMs });
  stage.beginLook();
  const code = await command(io).catch((error: unknown) => reportFailure(error, io, false));
  see([`exit ${code}`]);
  const outcome = { code, out: stage.settle(printed.out), err: stage.settle(printed.err) };
  expect(outcome.out + outcome.err, 'the token is not shown').not.toContain(TOKEN);
  expect(outcome.out + outcome.err, 'nothing steers the terminal').not.toMatch(/[^\P{Cc}\n]/u);
  return outcome;
}

const KubernetesObject = z.looseObject({
  apiVersion: z.string().min(1),
  kind: z.string().min(1),
  metadata: z.looseObject({ name: z.string().min(1), namespace: z.string().optional() }),
});

/** What must hold of every output, whatever the case says. */
function checkManifests(text: string): void {
  const [older, newer] = (['1.1', '1.2'] as const).map((version) =>
    parseAllDocuments(text, { version }).map((document) => {
      expect(document.errors).toEqual([]);
      return KubernetesObject.parse(document.toJS());
    }),
  );
  expect(older).toEqual(newer);
  const names = (newer ?? []).map(({ kind, metadata }) => `${kind} ${metadata.namespace}/${metadata.name}`);
  expect(new Set(names).size).toBe(names.length);
}

/** Pods meet the level that their profile names. test/cluster/manifests.test.ts asks an API server, too. */
function checkPods(text: string, groups: readonly RunnerGroup[]): void {
  for (const { level, metadata, spec } of podsOf(text, groups)) {
    const violations = securityViolations({ metadata, spec } as Mapping, level === 'restricted' ? level : 'baseline');
    // Of dockerd one container is privileged, or BuildKit is unconfined, and nothing else is wrong.
    const rules = violations.map(({ rule }) => rule).join();
    expect(level === 'privileged' ? ['privileged', 'appArmorProfile,seccompProfile_baseline'] : ['']).toContain(rules);
    see([`pod ${level}`]);
  }
}

describe.each(caseNames())('%s', (name) => {
  test('prints what is expected', async () => {
    const story = await readCase(name);
    const stage = await openStage(story.exchanges, story.secrets, story.cluster);
    const flags = { secretsDir: stage.secretsDir, caFile: stage.caFile };
    const once = () => run((io) => generate([], flags, io), story, stage);

    const first = await once();
    expect(stage.unexpected(), 'requests that gitea.json does not foresee').toEqual([]);
    see(seenInAnswers(story.exchanges));
    if (story.expects === 'error' || (story.expects === 'unknown' && first.code !== 0)) {
      expect(first.code).not.toBe(0);
      expect(first.out).toBe('');
      expect(first.err.split('\n').length).toBeLessThanOrEqual(21);
      expect(stage.unasked(), 'answers nobody asked for').toEqual([]);
      expectFile(story.folder, 'expected-error.txt', `exit ${first.code}\n${first.err}`);
      return;
    }
    expect(first.code, first.err).toBe(0);
    const json = await run((io) => explain([], { ...flags, json: true }, io), story, stage);
    // Again, and as text, only where the output is kept whole: that takes as long.
    const second = story.isWhole ? await once() : first;
    const text = story.isWhole ? await run((io) => explain([], flags, io), story, stage) : undefined;

    expect(stage.unexpected(), 'requests that gitea.json does not foresee').toEqual([]);
    expect(stage.unasked(), 'answers nobody asked for').toEqual([]);
    expect(second).toEqual(first);
    checkManifests(first.out);
    if (story.isWhole) expectFile(story.folder, 'expected.yaml', first.out);
    else expectFile(story.folder, 'expected.txt', compact(first.out, CASES));
    expectFile(story.folder, 'stderr.txt', first.err);
    const groups = await groupsIn(story.groups);
    checkPods(first.out, groups);
    if (groups.length === 0) {
      expect(json).toMatchObject({ code: 2, out: '' });
      expect(text ?? json).toEqual(json);
      expectFile(story.folder, 'explain.txt', json.err.replace(/\(\/.*\)/, '(FOLDER)'));
      return;
    }
    expect(json.err).toBe('');
    const explanation = JSON.parse(json.out) as Explanation;
    const explained = explainText(explanation, { colour: false });
    if (text) expect(text).toEqual({ ...json, out: explained });
    expectFile(story.folder, 'explain.txt', explained);
    see([...seenInExplanation(explanation), ...seenInGroups(groups)]);
  });
});

test('every kind of decision, scope, container mode, version and exit code has a case', () => {
  const missing = WANTED.filter((kind) => !seen.has(kind));

  expect(missing).toEqual([]);
});

test('updating is refused in CI', () => {
  expect(() => isUpdating({ UPDATE_GOLDENS: '1', CI: 'true' })).toThrow('refused');
  expect(isUpdating({ UPDATE_GOLDENS: '1' })).toBe(true);
  expect(isUpdating({ CI: 'true' })).toBe(false);
});
