import { expect, test } from 'vitest';
import { complaintsOf, groupOf } from '../../support/group-files.ts';

const names = async (spec: Readonly<Record<string, unknown>>) => (await groupOf(spec)).labels.map(({ name }) => name);
const DEFAULTS = ['ubuntu-latest', 'ubuntu-24.04', 'ubuntu-22.04'];

test('the name ends before a known schema', async () => {
  const labels = ['gpu', 'a:host', 'b:docker://reg.example.com:5000/i:1', 'c:docker:i', 'Größe'];

  expect(await names({ labels, defaultLabels: false })).toEqual(['gpu', 'a', 'b', 'c', 'Größe']);
});

test('the whole text of a label with another schema is the name, for an image that says so', async () => {
  const spec = { labels: ['app:infra'], defaultLabels: false };

  expect(await names({ ...spec, image: 'example.com/runner:3' })).toEqual(['app:infra']);
  expect(await complaintsOf(spec)).toEqual([
    'spec.labels[0]: "app:infra" is neither name:host nor name:docker://image; the default runner 1.0.8 would never register. Write "app-infra" here and in runs-on, or set image to a runner of 2.1 or newer. If "infra" is an image, write "app:docker://infra" [GR-INPUT-06]',
  ]);
});

test('the advice for an image in a label names an image that registries can have', async () => {
  const [problem] = await complaintsOf({ labels: ['node:v20@latest'], defaultLabels: false });

  expect(problem).toMatch(/If "v20@latest" is an image, write "node:docker:\/\/v20:latest" \[/);
});

test('default labels are added, replaced by own ones of the same name, exchanged or left out', async () => {
  expect(await names({})).toEqual(DEFAULTS);
  expect(await names({ labels: ['gpu', 'ubuntu-24.04:host'] })).toEqual([
    'gpu',
    'ubuntu-24.04',
    'ubuntu-latest',
    'ubuntu-22.04',
  ]);
  expect(await names({ labels: ['gpu'], defaultLabels: ['x:host', 'gpu'] })).toEqual(['gpu', 'x']);
  expect(await names({ labels: ['gpu'], defaultLabels: false })).toEqual(['gpu']);
});

test('runners without any label are refused', async () => {
  const refusal = ['spec: the runners would have no label: add one to labels, e.g. "ubuntu-latest:host" [GR-INPUT-06]'];

  expect(await complaintsOf({ defaultLabels: false })).toEqual(refusal);
  expect(await complaintsOf({ containerMode: 'host' })).toEqual(refusal);
});

test('mode host has no default labels and refuses docker', async () => {
  expect(await names({ containerMode: 'host', labels: ['ubuntu-latest:host'] })).toEqual(['ubuntu-latest']);
  expect(await complaintsOf({ containerMode: 'host', labels: ['a:docker://b'], acceptUnlabelledJobs: true })).toEqual([
    'spec.labels[0]: needs docker, which containerMode host does not have: write "a:host", or choose another containerMode [GR-INPUT-06]',
    'spec.acceptUnlabelledJobs: does not go with containerMode host: a job without labels runs in docker [GR-INPUT-06]',
  ]);
});

test('a name occurs once', async () => {
  expect(await complaintsOf({ labels: ['a', 'b', 'a:host'] })).toEqual([
    'spec.labels[2]: the name "a" is already in this list: remove one of them [GR-INPUT-06]',
  ]);
});

test.each([
  ['', 'must not be empty'],
  [':host', 'must have a name before the colon; got the string ":host"'],
  ['a:host:b', 'must end after ":host"; got the string "a:host:b"'],
  ['a:docker', 'must name an image: "a:docker://image"; got the string "a:docker"'],
  ['a:docker://', 'must name an image: "a:docker://image"; got the string "a:docker://"'],
  ['--ephemeral', 'must not start with "-": the runner would take it for an option; got the string "--ephemeral"'],
])('the reader refuses the label %j', async (label, message) => {
  expect(await complaintsOf({ labels: [label] })).toEqual([`spec.labels[0]: ${message} [GR-INPUT-05]`]);
});

test.each([...' ,\'"`\\$*?[]\n\t\r\0\x1b\u200b\u2028\u00a0'])(
  'the reader refuses a label with %j, which the start script or a reader changes',
  async (character) => {
    const complaints = await complaintsOf({ labels: [`a${character}b`] });

    expect(complaints).toHaveLength(1);
    expect(complaints[0]).toContain("the runner's start script would split or expand it");
  },
);

const texts = async (spec: Readonly<Record<string, unknown>>) =>
  (await groupOf({ groupLabel: true, ...spec })).labels.map(({ text }) => text);

test('groupLabel adds the name of the group, for the image of the first label that has one', async () => {
  expect(await texts({ labels: ['gpu', 'a:docker://image:1'] })).toEqual([
    'gpu',
    'a:docker://image:1',
    expect.stringMatching(/^ubuntu-latest:docker:/),
    expect.stringMatching(/^ubuntu-24.04:docker:/),
    expect.stringMatching(/^ubuntu-22.04:docker:/),
    'ci:docker://image:1',
  ]);
  expect((await texts({})).at(-1)).toBe('ci:docker://docker.gitea.com/runner-images:ubuntu-latest');
  expect(await names({ groupLabel: true, defaultLabels: false })).toEqual(['ci']);
});

test('groupLabel means the host when no label has an image', async () => {
  expect(await texts({ containerMode: 'host', labels: ['gpu'] })).toEqual(['gpu', 'ci:host']);
  expect(await texts({ defaultLabels: false })).toEqual(['ci:host']);
});

test('a label of the name of the group that is written wins over groupLabel', async () => {
  expect(await texts({ labels: ['ci:docker://own:1'], defaultLabels: false })).toEqual(['ci:docker://own:1']);
  expect(await texts({ labels: ['gpu'], defaultLabels: ['ci:host'] })).toEqual(['gpu', 'ci:host']);
  expect(await names({ labels: ['gpu'], defaultLabels: false, groupLabel: false })).toEqual(['gpu']);
});
