/** Tests documents that a committer may put beside the RunnerGroups, from the file to Argo CD's input. */
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { withoutWorkloads } from '../../../src/config/policy/without-policy.ts';
import { readFiles } from '../../support/group-files.ts';
import { folderWith, runHere } from '../../support/run-cli.ts';

const POD = `{template: {spec: {containers: [{name: x, image: alpine, securityContext: {privileged: true}}]}}}`;
const JOB = `apiVersion: batch/v1\nkind: Job\nmetadata: {name: by-hand}\nspec: ${POD}\n`;

const generate = (text: string, env: Readonly<Record<string, string>> = {}, command = 'generate') =>
  runHere([command, '--cluster', 'off'], env, folderWith({ 'other.yaml': text }));

/** Returns the result of `generate` for a file, before any request. */
const verdictOn = async (text: string) => withoutWorkloads((await readFiles({ 'other.yaml': text })).others);

/** Expects that no document can start a pod: only the name of each object is printed, and Argo CD skips it. */
async function expectNames(text: string): Promise<void> {
  const { printed, warning } = await verdictOn(text);
  expect(warning).toMatch(/^warning: GR-POLICY-02 not deployed: the documents at other\.yaml:/);
  for (const each of printed.filter((one) => one.text.startsWith('{'))) {
    const { apiVersion: _, kind: __, metadata, ...rest } = JSON.parse(each.text);
    expect(rest).toEqual({});
    expect(metadata).toEqual({
      annotations: { 'argocd.argoproj.io/hook': 'Skip' },
      name: metadata.name,
      ...(metadata.namespace && { namespace: metadata.namespace }),
    });
  }
}

it('a Job beside the RunnerGroups is never made: Argo CD is told its name, and to leave it as it is', async () => {
  const outcome = await generate(JOB);

  expect(outcome.code).toBe(0);
  expect(parse(outcome.stdout)).toEqual({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { annotations: { 'argocd.argoproj.io/hook': 'Skip' }, name: 'by-hand' },
  });
  expect(outcome.stderr).toMatch(
    /^warning: GR-POLICY-02 not deployed: the documents at other\.yaml:1 \(Job\), because /,
  );
  expect(outcome.stderr).toContain('GITEA_RUNNERS_PASS_WORKLOADS=true');
});

it('a Job beside the RunnerGroups has no hook of its own, and the objects of a list beside it stay as they are, too', async () => {
  const list = `apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: x}, data: {b: c}}\n- {apiVersion: v1, kind: Pod, metadata: {name: p, annotations: {helm.sh/hook: post-install}}, spec: {}}\n`;
  const { printed } = await verdictOn(list);
  const annotations = { 'argocd.argoproj.io/hook': 'Skip' };

  expect(printed.map(({ text }) => parse(text))).toEqual([
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { annotations, name: 'a', namespace: 'x' } },
    { apiVersion: 'v1', kind: 'Pod', metadata: { annotations, name: 'p' } },
  ]);
});

it('a Job beside the RunnerGroups takes nothing from a document beside it, and without it nothing is said', async () => {
  const other = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {b: c}\n';
  const { printed } = await verdictOn(`${other}---\n${JOB}`);

  expect(printed.map(({ text }) => parse(text))[0]).toEqual(parse(other));
  expect(printed).toHaveLength(2);
  expect(await verdictOn(other)).not.toHaveProperty('warning');
});

it('a Job beside the RunnerGroups passes when the sidecar is told so', async () => {
  const outcome = await generate(JOB, { GITEA_RUNNERS_PASS_WORKLOADS: 'true' });

  expect(outcome).toMatchObject({ code: 0, stdout: `---\n${JOB}` });
});

it.each([
  ['false', 0],
  ['', 0],
  ['yes', 2],
])('a Job beside the RunnerGroups does not pass when the sidecar is told %j', async (value, code) => {
  const outcome = await generate(JOB, { GITEA_RUNNERS_PASS_WORKLOADS: value });
  expect(outcome.code).toBe(code);
  expect(outcome.stdout).not.toContain('spec');
});

it.each(['ARGOCD_ENV_GITEA_RUNNERS_PASS_WORKLOADS', 'PARAM_PASS_WORKLOADS'])(
  'a Job beside the RunnerGroups does not pass by %s, which an Application can set',
  async (name) => {
    expect((await generate(JOB, { [name]: 'true' })).stdout).not.toContain('spec');
  },
);

describe('what would start pods is not passed on', () => {
  it.each([
    ['v1', 'Pod'],
    ['v1', 'PodTemplate'],
    ['v1', 'ReplicationController'],
    ['apps/v1', 'DaemonSet'],
    ['apps/v1', 'Deployment'],
    ['apps/v1', 'ReplicaSet'],
    ['apps/v1', 'StatefulSet'],
    ['batch/v1', 'CronJob'],
    ['batch/v1beta1', 'CronJob'],
    ['extensions/v1beta1', 'Deployment'],
    ['batch.volcano.sh/v1alpha1', 'Job'],
    ['sparkoperator.k8s.io/v1beta2', 'SparkApplication'],
  ])('%s %s is not passed on', async (apiVersion, kind) => {
    const verdict = await verdictOn(`apiVersion: ${apiVersion}\nkind: ${kind}\n`);
    expect(verdict).toEqual({ printed: [], warning: expect.stringContaining(`other.yaml:1 (${kind})`) });
    await expectNames(`apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: {name: a, labels: {b: c}}\nspec: ${POD}\n`);
  });

  it.each([
    ['in JSON', '{"apiVersion":"batch/v1","kind":"Job"}'],
    ['behind a document that may pass', `apiVersion: v1\nkind: ConfigMap\n---\n${JOB}`],
    ['behind the end of a document', `apiVersion: v1\nkind: ConfigMap\n...\n${JOB}`],
    ['in a List', 'apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod}\n'],
    ['in a JobList', 'apiVersion: batch/v1\nkind: JobList\nitems:\n- {apiVersion: batch/v1, kind: Job}\n'],
    // Read as kubectl does.
    ['in a JobList whose items have no type', 'apiVersion: batch/v1\nkind: JobList\nitems:\n- {metadata: {name: a}}\n'],
    // Argo CD opens whatever has items.
    ['in what calls itself otherwise', 'apiVersion: v1\nkind: ConfigMap\nitems: [{apiVersion: v1, kind: Pod}]\n'],
    [
      'in a List in a List',
      'apiVersion: v1\nkind: List\nitems: [{kind: List, items: [{apiVersion: v1, kind: Pod}]}]\n',
    ],
    ['with an escaped kind', 'apiVersion: batch/v1\nkind: "\\x4aob"\n'],
    ['with a folded kind', 'apiVersion: batch/v1\nkind: "J\\\n  ob"\n'],
    ['with an alias for its kind', 'apiVersion: batch/v1\nmetadata: {name: &k Job}\nkind: *k\n'],
    ['with a tagged kind', 'apiVersion: batch/v1\nkind: !!str Job\n'],
    ['with an explicit key', 'apiVersion: batch/v1\n? kind\n: Job\n'],
    ['by a merge', '<<: {kind: Job}\napiVersion: batch/v1\n'],
    [
      'in a kind that nobody knows',
      `apiVersion: a.example/v1\nkind: A\nmetadata: {name: a}\nspec: {b: [{c: ${POD}}]}\n`,
    ],
    [
      'in a JobSet',
      `apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nspec: {replicatedJobs: [{template: {spec: ${POD}}}]}\n`,
    ],
    ['by an alias', `apiVersion: a.example/v1\nkind: A\na: &a {containers: [{image: alpine}]}\nspec: *a\n`],
  ])('a workload %s is not passed on', async (_, text) => {
    await expectNames(text);
  });

  it.each([
    // The reader of Argo CD takes these for line breaks, which end the comment (go-yaml v2, run).
    ['behind U+2028 in a comment', 'apiVersion: v1\nkind: ConfigMap # \u2028items: [{kind: Job}]\n'],
    ['behind U+2029 in a comment', 'apiVersion: v1\nkind: ConfigMap # \u2029items: [{kind: Job}]\n'],
    ['behind U+0085 in a comment', 'apiVersion: v1\nkind: ConfigMap # \u0085items: [{kind: Job}]\n'],
    ['behind a mark that ends a document for some', 'apiVersion: v1\nkind: ConfigMap\n---\u00a0# x: 1\na: 1\n'],
    ['behind a byte order mark', 'apiVersion: v1\nkind: A\n---\n\ufeffitems: [{kind: Job}]\napiVersion: v1\nkind: A\n'],
    ['behind a lone carriage return in a comment', 'apiVersion: v1\nkind: ConfigMap # \ritems: [{kind: Job}]\n'],
  ])('a workload %s is refused', async (_, text) => {
    await expect(verdictOn(text)).rejects.toMatchObject({ code: 'GR-POLICY-02', exit: 3 });
  });

  // The reader of Argo CD takes each of them as a Job, or as a list with one (go-yaml v2, run).
  it.each([
    ['a quoted merge with the tag "!"', 'kind: ConfigMap\n! "<<": {kind: Job}\n', 'a merge is written "<<"'],
    ['a plain merge with the tag "!"', 'kind: ConfigMap\n! <<: {kind: Job}\n', 'a merge is written "<<"'],
    [
      'a merge with a tag, which is none for it',
      '<<: [{!!str <<: {items: [a]}}, {items: [{kind: Job}]}]\nkind: List\n',
      'a merge is written "<<"',
    ],
    ['"?" before a key', 'kind: List\nitems: [{kind: ConfigMap, ?kind: Job}]\n', 'the key "?kind" needs quotes'],
    ['"?" before a quoted key', 'kind: List\nitems: [{?"kind": Job}]\n', 'the key "?"kind"" needs quotes'],
    ['"?" before a pair', 'kind: List\nitems: [?kind: Job]\n', 'the key "?kind" needs quotes'],
    [
      'a colon before a comma',
      '<<: [{items:, a: b}, {items: [{kind: Job}]}]\nkind: List\n',
      'the key "items" needs a space behind its colon',
    ],
    [
      'a colon before a brace',
      '<<: [{items :}, {items: [{kind: Job}]}]\nkind: List\n',
      'the key "items" needs a space behind its colon',
    ],
  ])('a file that hides a workload by %s is wrong input', async (_, text, problem) => {
    const outcome = await generate(`${text}apiVersion: batch/v1\n`);

    expect(outcome).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(problem) });
  });

  it.each([
    ['values with an image', 'apiVersion: a.example/v1\nkind: ImageRepository\nspec: {image: alpine}\n'],
    ['a schema of containers', 'apiVersion: a.example/v1\nkind: A\nspec: {properties: {containers: {type: array}}}\n'],
    ['a list of names', 'apiVersion: a.example/v1\nkind: A\nspec: {containers: [a, null, {name: b}]}\n'],
  ])('%s is no workload and is passed on', async (_, text) => {
    expect(await verdictOn(text)).toEqual({ printed: [expect.objectContaining({ text })] });
  });

  it('a warning of workloads names the first five places, and the number of the others', async () => {
    const { warning } = await verdictOn(Array.from({ length: 7 }, () => JOB).join('---\n'));
    expect(warning).toMatch(/\(Job\) and 2 more, because /);
  });
});

it.each([
  'apiVersion: v1\nkind: ConfigMap\ndata: {kind: Job, note: "a\\u2028b"}\n',
  'apiVersion: v1\r\nkind: ConfigMap\r\n',
  'apiVersion: v1\nkind: ConfigMap\ndata:\n  job.yaml: |\n    kind: Job\n',
  'apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: Job}\n',
  'apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: ConfigMap}]\n',
  'apiVersion: v1\nkind: ConfigMap\nitems: []\n',
])('what starts no pod passes: %j', async (text) => {
  const { code, stdout } = await generate(text);

  expect([code, stdout]).toEqual([0, `---\n${text}`]);
});
