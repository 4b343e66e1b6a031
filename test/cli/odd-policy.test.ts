/** Laws F287 and F294 (docs/spec.md): `validate` warns of values of a policy that are legal and cannot be meant. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { quietDocument } from '../support/group-files.ts';
import { specRows } from '../support/rows.ts';
import { folderWith, runHere } from '../support/run-cli.ts';

async function told(spec: object): Promise<readonly string[]> {
  const policy = { apiVersion: 'gitea.bpg.pw/v1alpha1', kind: 'RunnerPolicy', spec };
  const folder = folderWith({ 'ci.yaml': quietDocument({}), 'policy.yaml': JSON.stringify(policy) });
  const { stderr } = await runHere(['validate', 'ci.yaml', '--policy', join(folder, 'policy.yaml')], {}, folder);
  return stderr.split('\n').flatMap((line) => /policy\.yaml:\d+:\d+: (?:warning: )?spec\.(.*)$/.exec(line)?.[1] ?? []);
}

const exception = (fields: object): object => ({
  exceptions: [{ groups: ['*/*'], rules: ['securityProfile'], until: '2999-01-01', reason: 'x', ...fields }],
});

/** What `validate` says of the spec of a policy, and the spec. */
const NEVER_MEANT = specRows(`
maxResources.memory: is 32 bytes, which no program can use: write 32Gi
  maxResources: {memory: 32}
maxResources.memory: is 512 bytes, which no program can use: write 512Mi
  maxResources: {memory: 512}
groups[0].maxResources.cpu: is 2000 whole cores: write 2000m for thousandths of a core
  groups: [{match: {}, maxResources: {cpu: 2000}}]
defaults.resources.requests.memory: is 512 bytes, which no program can use: write 512Mi
  defaults: {resources: {requests: {memory: 512}}}
namespaces[1]: never counts, because namespaces[0] comes first and fits all of it: move this entry before that one, or remove it
  namespaces: [{name: "*"}, {name: team-a, scopes: [org:a]}]
namespaces[1]: never counts, because namespaces[0] comes first and fits all of it: move this entry before that one, or remove it
  namespaces: [{name: "*-*"}, {name: team-*}]
groups[1]: never counts, because groups[0] comes first and fits all of it: move this entry before that one, or remove it
  groups: [{match: {}}, {match: {labels: {tier: gold}}}]
groups[1]: never counts, because groups[0] comes first and fits all of it: move this entry before that one, or remove it
  groups: [{match: {scope: org:*}}, {match: {scope: org:Acme, name: ci}}]
tokenBindings[1]: never counts, because tokenBindings[0] comes first and fits all of it: move this entry before that one, or remove it
  tokenBindings: [{namespace: "*", secret: gitea-api, url: https://gitea.example.com}, {namespace: team-a, secret: gitea-api, url: https://gitea.example.com}]
namespaces[0].name: fits no namespace, whose names have dashes inside and no dots: write team-a
  namespaces: [{name: team.a}]
groups[0].match.name: fits no RunnerGroup, whose names have dashes inside and no dots: write "ci-*"
  groups: [{match: {name: ci.*}}]
exceptions[0].groups[0]: fits no RunnerGroup, because no entry of namespaces allows team-z: add it there, or correct it
  namespaces: [{name: "*-a"}]
  exceptions: [{groups: [team-z/ci], rules: [securityProfile], until: 2027-01-01, reason: x}]
exceptions[0].until: is 2020-01-01, which is over, so the rules deny again: remove the exception, or write a later day
  exceptions: [{groups: ["*/*"], rules: [securityProfile], until: 2020-01-01, reason: x}]
exceptions[0].rules[0]: is about images, which no level of this policy has, so it does nothing: remove it
  exceptions: [{groups: ["*/*"], rules: [images], until: 2027-01-01, reason: x}]
enforcementOf.queues: is about queues, which no level of this policy has, so it does nothing: remove it
  enforcementOf: {queues: warn}
images[0]: is of ghcr.io, and registries has only docker.io: add it there, or remove this
  {images: [ghcr.io/acme/*], registries: [docker.io], enforcement: warn}
securityProfile.withReason: is baseline, and highest allows privileged without a reason: write a higher one, or remove it
  securityProfile: {highest: privileged, withReason: baseline}
groups[0].maxActiveRunners: is 50, more than the 20 of the whole policy, so it limits nothing: write less, or remove it
  {maxActiveRunners: 20, groups: [{match: {name: x}, maxActiveRunners: 50}]}
giteas[0]: fits no Gitea, because a star is no pattern here: write the address of each
  {giteas: ["https://git.example.com/*"], enforcement: warn}
podTemplateFields[0]: is no field of a pod, so it allows nothing: write spec.nodeSelector
  podTemplateFields: [spec.nodeselector]
groups[0].match.labels.tier: is no label that an object can have: correct it
  groups: [{match: {labels: {tier: very gold}}}]
`);

/** Law F294: what an error says of the spec of a policy, with the line to write. */
const WRONG = specRows(`
namespaces[0].scopes[0]: must be global, org:NAME, user:NAME or repo:OWNER/NAME; stars are allowed; got the string "acme"; write "org:acme"
  namespaces: [{name: a, scopes: [acme]}]
namespaces[0].scopes[0]: must be a string, not a mapping: quote it, without a space: "org:acme"
  namespaces: [{name: a, scopes: [{org: acme}]}]
groups[0].match.scope: must be global, org:NAME, user:NAME or repo:OWNER/NAME; stars are allowed; got the string "acme/web"; write "repo:acme/web"
  groups: [{match: {scope: acme/web}}]
giteas[0]: must be the base URL of a Gitea: http or https, without credentials, query or fragment; got the string "git.corp.io"; write "https://git.corp.io"
  giteas: [git.corp.io]
registries[0]: must be the host of a registry with its port if it has one, e.g. docker.io or *.example.com:5000; got the string "https://docker.io"; write "docker.io"
  registries: [https://docker.io]
images[0]: must begin with the host of a registry, e.g. docker.io/gitea/runner or registry.example.com:5000/ci/**; got the string "gitea/runner:*"; write "docker.io/gitea/runner:*"
  images: [gitea/runner:*]
images[0]: must begin with the host of a registry, e.g. docker.io/gitea/runner or registry.example.com:5000/ci/**; got the string "https://r.corp.io/x"; write "r.corp.io/x"
  images: [https://r.corp.io/x]
securityProfile: must be a mapping, not the string "baseline"; write "securityProfile: {highest: …}"
  securityProfile: baseline
namespaces[0]: must be a mapping, not the string "runners"; write "{name: …}"
  namespaces: [runners]
maxResources.requests: counts as one with the other: write "maxResources: {cpu: …}"
  maxResources: {requests: {cpu: 8}}
groups[0].match.namespaces: unknown field; did you mean "namespace"?
  groups: [{match: {namespaces: [a]}}]
priorityClasses: must be a list, not the string "none"; write "priorityClasses: []"
  priorityClasses: none
queues[0]: must be a name, or a pattern like team-*: lower-case letters, digits, dashes, dots and stars; got the string "a/ci"; write "ci"
  queues: [a/ci]
podTemplateFields[0]: must be a path like spec.nodeSelector or spec.containers.env; got the string "nodeSelector"; write "spec.nodeSelector"
  podTemplateFields: [nodeSelector]
exceptions[0].until: must be a day, e.g. 2027-03-31; got the string "31.12.2027"; write "2027-12-31"
  exceptions: [{groups: ["*/*"], rules: [images], until: 31.12.2027, reason: x}]
`);

/** What looks like one of these, and is meant. */
const MEANT = specRows(`
large nodes
  maxResources: {cpu: 192, memory: 1Ti, nvidia.com/gpu: 0}
the narrow entry first
  namespaces: [{name: team-a}, {name: team-*}, {name: "*"}]
entries of which none fits all of another
  groups: [{match: {name: ci, labels: {a: b}}}, {match: {name: ci}}, {match: {scope: org:a}}]
tokens of two Secrets
  tokenBindings: [{namespace: "*", secret: gitea-api, url: https://gitea.example.com}, {namespace: "*", secret: b, url: https://gitea.example.com}]
an exception for another namespace
  namespaces: [{name: "*-a"}, {name: runners}]
  exceptions: [{groups: [b/*], rules: [namespaces], until: 2027-01-01, reason: x}]
rules that hold without a field
  exceptions: [{groups: ["*/*"], rules: [priorityClasses, serviceAccounts], until: 2027-01-01, reason: x}]
fields of pods
  podTemplateFields: [metadata.labels.team, spec.containers.env.value, spec.volumes.emptyDir]
registries with a star
  {images: ["*.example.com/ci/**", docker.io/gitea/runner], registries: [docker.io, "*.example.com"]}
`);

it.each(NEVER_MEANT)('%s', async (message, spec) => {
  expect(await told(spec)).toEqual([`${message} [GR-WARN-14]`]);
});

it.each(WRONG)('an error: %s', async (message, spec) => {
  expect(await told(spec)).toEqual([message]);
});

it('says in how many years an exception ends', async () => {
  const [line] = await told(exception({ until: '2999-01-01' }));

  expect(line).toMatch(/^exceptions\[0\]\.until: is 2999-01-01, in \d{3} years: write a day within a year, or allow/);
});

it.each(MEANT)('is silent: %s', async (_, spec) => {
  expect(await told(spec)).toEqual([]);
});
