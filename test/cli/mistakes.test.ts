/** What `validate` says about the mistakes of people who come from other tools, word for word. */
import { expect, it } from 'vitest';
import { quietDocument, type Spec } from '../support/group-files.ts';
import { folderWith, runHere } from '../support/run-cli.ts';

it.each<[Spec, string, Spec?]>([
  [
    { labels: 'ubuntu-latest,small' },
    'spec.labels: must be a list, not the string "ubuntu-latest,small"; write "labels: [ubuntu-latest, small]" [GR-INPUT-05]',
  ],
  [
    { maxActiveRunners: '10' },
    'spec.maxActiveRunners: must be a whole number, not the string "10"; remove the quotes: maxActiveRunners: 10 [GR-INPUT-05]',
  ],
  [
    {},
    'metadata.name: must be lower-case letters, digits and dashes, with a letter or digit at both ends; got the string "CI_Runners"; write "name: ci-runners" [GR-INPUT-05]',
    { name: 'CI_Runners' },
  ],
  [
    { securityProfile: 'restricted', containerMode: 'dind' },
    'spec.securityProfile: spec.initContainers[docker].securityContext.privileged must not be true (rule privileged of securityProfile restricted), and 4 more rules; containerMode dind does not meet it: set containerMode: host, or remove securityProfile [GR-INPUT-10]',
  ],
  [
    { containerMode: { type: 'dind' } },
    'spec.containerMode: must be one of dind-rootless, dind, buildkit, host, not a mapping; write "containerMode: dind" [GR-INPUT-05]',
  ],
  [
    { labels: ['u:doker://node:20'] },
    'spec.labels[0]: "u:doker://node:20" is neither name:host nor name:docker://image; did you mean "u:docker://node:20"? [GR-INPUT-06]',
  ],
  [
    { labels: ['docker://node:20'] },
    'spec.labels[0]: "docker://node:20" is neither name:host nor name:docker://image; it lacks its name: write "ubuntu-latest:docker://node:20" [GR-INPUT-06]',
  ],
  [
    { labels: ['u:node:20'] },
    'spec.labels[0]: "u:node:20" is neither name:host nor name:docker://image; did you mean "u:docker://node:20"? [GR-INPUT-06]',
  ],
  [
    { maxActiveRunners: undefined, maxReplicaCount: 10 },
    'spec.maxReplicaCount: unknown field; did you mean "maxActiveRunners"? [GR-INPUT-04]',
  ],
  [
    { runner: { labels: ['a'] } },
    "spec.runner: unknown field; is a section of the runner's config.yaml: write it below runnerConfig [GR-INPUT-04]",
  ],
  [
    { resources: undefined },
    'warning: spec.resources: is missing, so runner pods ask for nothing: a node takes too many of them, and ends them first when memory is short. Write e.g. "resources: {requests: {cpu: 500m, memory: 1Gi}}" [GR-WARN-08]',
  ],
  [
    { labels: ['windows-latest:host'] },
    'warning: spec.labels: runners are Linux pods, and jobs with runs-on windows-latest would run there: remove the label [GR-WARN-09]',
  ],
  [
    { image: 'code.forgejo.org/forgejo/runner:6.3.1' },
    "warning: spec.image: code.forgejo.org/forgejo/runner:6.3.1 looks like Forgejo's runner, which does not register at Gitea: use gitea/runner [GR-WARN-09]",
  ],
  ...[
    ['git.example.org', '; write "https://git.example.org"'],
    ['git@git.example.org:acme/web.git', '; write "https://git.example.org"'],
    ['https://bot:s3cr3t@git.example.org', '. If a password of it is real, revoke it'],
  ].map(([url = '', way = '']): [Spec, string] => [
    { gitea: { url } },
    `spec.gitea.url: must be an http or https URL without credentials, query or fragment, e.g. https://gitea.example.com${way} [GR-INPUT-05]`,
  ]),
  [
    { resources: { requests: { cpu: 1, memory: '1GB' } } },
    'spec.resources.requests.memory: must be a Kubernetes quantity, e.g. 500m, 2 or "1.5Gi"; got the string "1GB"; write "1G" [GR-INPUT-05]',
  ],
  [
    { proxy: { http: 'http://proxy:3128', noProxy: ['*.svc'] } },
    'spec.proxy.noProxy[0]: must be a host name (with a dot before it: all hosts below it), an IP address or a CIDR block, e.g. .example.internal or 10.0.0.0/8; write ".svc" [GR-INPUT-05]',
  ],
  [
    { podTemplate: { spec: { tolerations: [{ key: 'ci', operator: 'Exist' }] } } },
    'spec.podTemplate.spec.tolerations[0].operator: must be one of Exists, Equal, not "Exist"; did you mean Exists? [GR-INPUT-05]',
  ],
  [
    { podTemplate: { spec: { volumes: [{ name: 'c', hostPath: { path: '/srv' } }] } } },
    'spec.podTemplate.spec.volumes[0].hostPath: must not be set: it is a folder of the node (rule hostPathVolumes of securityProfile baseline, the default of containerMode dind-rootless): remove it, or set securityProfile: privileged, which needs a policy [GR-INPUT-10]',
  ],
  [
    {},
    'note: 1 RunnerGroup without metadata.namespace: Argo CD takes the destination namespace, here it is default',
    { namespace: undefined },
  ],
])('case %#', async (spec, message, metadata = {}) => {
  const { stderr } = await runHere(
    ['validate', 'ci.yaml'],
    {},
    folderWith({ 'ci.yaml': quietDocument(spec, metadata) }),
  );

  const lines = stderr.trimEnd().split('\n');
  expect(
    lines.map((line) => line.replace(/^ci\.yaml:\d+:\d+: /, '')).filter((line) => !/^1 Runner/.test(line)),
  ).toEqual([message]);
});

it.each([
  [
    'githubConfigUrl: https://github.com/acme\n',
    "It holds values of ARC, which serves GitHub: 'gitea-runners import FILE' says what becomes of them.",
  ],
  [
    'apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\nmetadata: {name: a}\n',
    "It holds an object of KEDA: 'gitea-runners import FILE' makes a RunnerGroup of it.",
  ],
  [
    'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: gitea/act_runner}\n',
    "It holds a runner that always runs: 'gitea-runners import FILE' makes a RunnerGroup of it.",
  ],
])('a file of another tool names import: case %#', async (text, message) => {
  const { code, stderr } = await runHere(['validate', 'x.yaml'], {}, folderWith({ 'x.yaml': text }));

  expect({ code, last: stderr.trimEnd().split('\n').at(-1) }).toEqual({
    code: 2,
    last: `error: GR-INPUT-09 find RunnerGroups: no RunnerGroup in x.yaml. ${message}`,
  });
});
