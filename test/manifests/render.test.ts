import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApiObject } from 'cdk8s';
import fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { renderManifests } from '../../src/manifests/app.ts';
import { appOf, group, job, runner, synthesized } from './fixtures.ts';

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

test('a RunnerGroup is emitted as it was written, with the namespace found for it, and only when asked for', () => {
  const groups = [{ group: ci, runners: [] }];

  const [object] = parseAllDocuments(synthesized(groups, { emitGroups: true }));

  expect(object?.toJS()).toEqual({
    ...ci.manifest,
    metadata: { name: 'ci', labels: { team: 'on' }, namespace: 'runners' },
  });
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

test('whatever stands in names, labels and addresses, readers of YAML 1.1 and 1.2 find the one Job that was built', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('---\nkind: Secret', '": {x: "', 'on', '035e2982'),
  );

  fc.assert(
    fc.property(text, text, text, (repository, url, label) => {
      const hostile = group({ giteaUrl: url, labels: [{ name: label, text: label }] });
      const runners = [runner({ job: job({ repository, url: `https://${url}`, name: label }) })];
      const app = appOf([{ group: hostile, runners }]);
      const built = app.node.findAll().find((construct) => ApiObject.isApiObject(construct));
      // A lone surrogate cannot be written in UTF-8.
      const expected = JSON.parse(JSON.stringify(built?.toJson()), (_, value) =>
        typeof value === 'string' ? value.replace(/\p{Cs}/gu, '\ufffd') : value,
      );

      const stream = renderManifests(app);

      for (const version of ['1.1', '1.2'] as const) {
        const documents = parseAllDocuments(stream, { version });
        expect(documents.flatMap((each) => each.errors)).toEqual([]);
        expect(documents.map((each) => each.toJS())).toEqual([expected]);
      }
    }),
    { numRuns: 100 },
  );
});
