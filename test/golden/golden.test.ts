/** Whole outputs of `generate` and `explain`, one folder per story. README.md tells how to add one. */
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import * as z from 'zod';
import { explain } from '../../src/cli/explain.ts';
import { explainText } from '../../src/cli/explain-text.ts';
import type { Explanation } from '../../src/cli/explanation.ts';
import { generate } from '../../src/cli/generate.ts';
import { reportFailure } from '../../src/cli/process.ts';
import { readRunnerGroups } from '../../src/config/runnergroup/read.ts';
import type { ExitCode, Io } from '../../src/shared/io.ts';
import { printingIo } from '../support/printing-io.ts';
import { type Case, caseNames, readCase } from './case.ts';
import { seenInAnswers, seenInExplanation, seenInGroups, WANTED } from './coverage.ts';
import { expectFile, isUpdating } from './golden-file.ts';
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
    const second = await once();
    const text = await run((io) => explain([], flags, io), story, stage);
    const json = await run((io) => explain([], { ...flags, json: true }, io), story, stage);

    expect(stage.unexpected(), 'requests that gitea.json does not foresee').toEqual([]);
    expect(stage.unasked(), 'answers nobody asked for').toEqual([]);
    expect(second).toEqual(first);
    checkManifests(first.out);
    expectFile(story.folder, 'expected.yaml', first.out);
    expectFile(story.folder, 'stderr.txt', first.err);
    const groups = await groupsOf(story);
    if (groups.length === 0) {
      expect(json).toEqual(text);
      expect([text.code, text.out]).toEqual([2, '']);
      expectFile(story.folder, 'explain.txt', text.err.replace(/\(\/.*\)/, '(FOLDER)'));
      return;
    }
    expect(text.err + json.err).toBe('');
    const explanation = JSON.parse(json.out) as Explanation;
    expect(explainText(explanation, { colour: false })).toBe(text.out);
    expectFile(story.folder, 'explain.txt', text.out);
    see([...seenInExplanation(explanation), ...seenInGroups(groups)]);
  });
});

async function groupsOf({ groups }: Case) {
  return (await readRunnerGroups({ paths: [], recursive: false, cwd: groups, defaultNamespace: 'default' })).groups;
}

test('every kind of decision, scope, container mode, version and exit code has a case', () => {
  const missing = WANTED.filter((kind) => !seen.has(kind));

  expect(missing).toEqual([]);
});

describe('updating', () => {
  test('is refused in CI', () => {
    expect(() => isUpdating({ UPDATE_GOLDENS: '1', CI: 'true' })).toThrow('refused');
    expect(isUpdating({ UPDATE_GOLDENS: '1' })).toBe(true);
    expect(isUpdating({ CI: 'true' })).toBe(false);
  });
});
