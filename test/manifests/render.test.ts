import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { appOf, group, runner, synthesized } from './fixtures.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

const ci = group();
const other = group({ namespace: 'a', name: 'z' });

test('nothing to emit is an empty string', () => {
  expect(synthesized([{ group: ci, runners: [] }])).toBe('');
});

test('the first line is a document marker also when only foreign JSON is there', () => {
  expect(synthesized([], { others: ['{"kind": "A"}', 'kind: B\n'] })).toBe('---\n{"kind": "A"}\n---\nkind: B\n');
});

test('groups come by namespace and name, whatever order they are given in', () => {
  const items = [
    { group: ci, runners: [runner()] },
    { group: other, runners: [runner({ runner: 'z-1-1-aaaabbbb' })] },
  ];

  const forwards = synthesized(items, { emitGroups: true });
  const backwards = synthesized(items.toReversed(), { emitGroups: true });

  expect(backwards).toBe(forwards);
  expect([...forwards.matchAll(/^ {2}name: "(.*)"/gm)].map(([, name]) => name)).toEqual([
    'z',
    'z-1-1-aaaabbbb',
    'ci',
    'ci-4711-1-9c31e0aa',
  ]);
});

test('groups whose namespaces and names share letters stay apart', () => {
  const groups = [
    { group: group({ namespace: 'a-b', name: 'c' }), runners: [runner({ runner: 'c-1-1-aaaabbbb' })] },
    { group: group({ namespace: 'a', name: 'b-c' }), runners: [runner({ runner: 'b-c-1-1-aaaabbbb' })] },
  ];

  expect(parseAllDocuments(synthesized(groups))).toHaveLength(2);
});

test('synth writes one file per RunnerGroup and one for the rest, in the same words as generate', () => {
  const outdir = mkdtempSync(join(tmpdir(), 'charts-'));
  folders.push(outdir);
  const groups = [
    { group: ci, runners: [runner()] },
    { group: other, runners: [] },
  ];
  const others = ['apiVersion: v1\nkind: ConfigMap # kept\ndata: {b: on}', '{"kind": "Secret"}\n'];

  appOf(groups, { others, outdir }).synth();

  expect(readdirSync(outdir).sort()).toEqual(['other-documents.k8s.yaml', 'runners.ci.k8s.yaml']);
  expect(readFileSync(join(outdir, 'runners.ci.k8s.yaml'), 'utf8')).toBe(synthesized(groups));
  expect(readFileSync(join(outdir, 'other-documents.k8s.yaml'), 'utf8')).toBe(
    '---\napiVersion: v1\nkind: ConfigMap # kept\ndata: {b: on}\n---\n{"kind": "Secret"}\n',
  );
});
