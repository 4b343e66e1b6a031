// biome-ignore-all lint/suspicious/noTemplateCurlyInString: what templates leave is tested here.
/** Tests the messages of `validate` about mistakes of people who come from other tools, word for word. */
import { expect, it } from 'vitest';
import { quietDocument, type Spec } from '../support/group-files.ts';
import { folderWith, runHere } from '../support/run-cli.ts';

const runner = (fields: object): Spec => ({ podTemplate: { spec: { containers: [{ name: 'runner', ...fields }] } } });
const before = (fields: object): Spec => ({
  podTemplate: { spec: { initContainers: [{ name: 'a', image: 'a:1', ...fields }] } },
});
const HARDENED = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } };
const PRIVILEGED = { securityProfile: 'privileged' };
const BUILDKIT = { containerMode: 'buildkit', labels: ['linux'] };
const hours = (written: object): Spec => ({ idleSchedule: [{ runners: 1, from: '07:00', to: '19:00', ...written }] });

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
    'spec.runner: unknown field; it belongs below spec.runnerConfig: move it there [GR-INPUT-04]',
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
    'spec.proxy.noProxy[0]: must be a host name (with a dot before it: all hosts below it), an IP address or a CIDR block, e.g. .example.internal or 10.0.0.0/8; got the string "*.svc"; write ".svc" [GR-INPUT-05]',
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
    { resources: undefined, podTemplate: { metadata: { labels: { team: 'web' } } } },
    'warning: spec.resources: is missing, so runner pods ask for nothing: a node takes too many of them, and ends them first when memory is short. Write e.g. "resources: {requests: {cpu: 500m, memory: 1Gi}}" [GR-WARN-08]',
  ],
  [
    hours({ from: '8:00' }),
    'spec.idleSchedule[0].from: must be a time of the day, e.g. "07:00"; got the string "8:00"; write from: "08:00" [GR-INPUT-05]',
  ],
  [
    hours({ to: '8pm' }),
    'spec.idleSchedule[0].to: must be a time of the day, e.g. "07:00"; got the string "8pm" [GR-INPUT-05]',
  ],
  [
    { gitea: { url: 'https://${GITEA_HOST}' } },
    'spec.gitea.url: must be the value itself, not a placeholder, which nobody has filled in, e.g. "url: https://gitea.example.com" [GR-INPUT-05]',
  ],
  ...['${ORG}', '$ORG', '$(ORG)', '{{ .Values.org }}', '<your-org>', '%ORG%'].map((org): [Spec, string] => [
    { org },
    `spec.org: must be the value itself, not "${org}", which nobody has filled in [GR-INPUT-05]`,
  ]),
  [
    {
      podTemplate: {
        spec: { serviceAccountName: 'a', volumes: [{ name: 'a', persistentVolumeClaim: { claimName: 'x-${TEAM}' } }] },
      },
    },
    'spec.podTemplate.spec.volumes[0].persistentVolumeClaim.claimName: must be the value itself, not "${TEAM}", which nobody has filled in [GR-INPUT-05]',
  ],
  [
    { minIdleRunners: '20%' },
    'spec.minIdleRunners: must be a whole number, not the string "20%"; a share is not known here: write how many [GR-INPUT-05]',
  ],
  [
    { proxy: { http: 'proxy:3128' } },
    'spec.proxy.http: must be an http or https URL with a port and without a path, e.g. http://proxy.example.com:3128; write "http://proxy:3128" [GR-INPUT-05]',
  ],
  [
    { proxy: { http: 'http://proxy:3128', noProxy: '.svc,10.0.0.0/8' } },
    'spec.proxy.noProxy: must be a list, not the string ".svc,10.0.0.0/8"; write "noProxy: [.svc, 10.0.0.0/8]" [GR-INPUT-05]',
  ],
  // Resources of the final container: in the group, in its template, and one of each.
  [
    { resources: { requests: { memory: '4Gi' } }, ...runner({ resources: { limits: { memory: '2Gi' } } }) },
    'spec.resources.requests.memory: is 4Gi, more than its limit 2Gi: write "memory: 2Gi", or raise spec.podTemplate.spec.containers[0].resources.limits.memory [GR-INPUT-06]',
  ],
  [
    runner({ resources: { requests: { cpu: 2 }, limits: { cpu: 1 } } }),
    'spec.podTemplate.spec.containers[0].resources.requests.cpu: is 2, more than its limit 1: write "cpu: 1", or raise spec.podTemplate.spec.containers[0].resources.limits.cpu [GR-INPUT-06]',
  ],
  [
    {
      sizes: [{ name: 'large', resources: { requests: { cpu: 1, memory: '8Gi' } } }],
      ...runner({ resources: { limits: { memory: '4Gi' } } }),
    },
    'spec.sizes[0].resources.requests.memory: is 8Gi, more than its limit 4Gi: write "memory: 4Gi", or raise spec.podTemplate.spec.containers[0].resources.limits.memory [GR-INPUT-06]',
  ],
  [
    {
      resources: { requests: { cpu: 1 } },
      sizes: [{ name: 'large', podTemplate: runner({ resources: { limits: { cpu: '500m' } } })['podTemplate'] }],
    },
    'spec.resources.requests.cpu: is 1, more than its limit 500m: write "cpu: 500m", or raise spec.sizes[0].podTemplate.spec.containers[0].resources.limits.cpu [GR-INPUT-06]',
  ],
  [
    { resources: { requests: { 'nvidia.com/gpu': 1 } } },
    'spec.resources.requests["nvidia.com/gpu"]: must have an equal limit: Kubernetes does not overcommit this resource. Write "limits: {nvidia.com/gpu: 1}" [GR-INPUT-06]',
  ],
  [
    runner({ resources: { limits: { cpu: 1, memory: -1 } } }),
    'spec.podTemplate.spec.containers[0].resources.limits.memory: is -1, and must not be below 0: write an amount [GR-INPUT-06]',
  ],
  [
    runner({ resources: { limits: { cpus: 1 } } }),
    'spec.podTemplate.spec.containers[0].resources.limits.cpus: is no resource of a container; did you mean "cpu"? [GR-INPUT-06]',
  ],
  [
    { resources: { limits: { 'nvidia.com/gpu': '500m' } } },
    'spec.resources.limits["nvidia.com/gpu"]: must be a whole number, because Kubernetes gives no part of a device: write "nvidia.com/gpu: 1" [GR-INPUT-06]',
  ],
  [
    { resources: { limits: { 'hugepages-2Mi': '5Mi', memory: '1Gi' } } },
    'spec.resources.limits.hugepages-2Mi: must be whole pages of 2Mi: write "hugepages-2Mi: 6Mi" [GR-INPUT-06]',
  ],
  [
    runner({ readinessProbe: { httpGet: { port: 'metrics' } } }),
    'spec.podTemplate.spec.containers[0].readinessProbe.httpGet.port: is the name of no port of this container: write its number, or add it to ports [GR-INPUT-06]',
  ],
  [
    { podTemplate: { spec: { tolerations: [{ key: 'ci', operator: 'Equals', value: 'a' }] } } },
    'spec.podTemplate.spec.tolerations[0].operator: must be one of Exists, Equal, not "Equals"; did you mean Equal? [GR-INPUT-05]',
  ],
  // The runner of mode dind must not be root.
  [
    { containerMode: 'dind', ...runner({ securityContext: { runAsUser: 0 } }) },
    'spec.podTemplate.spec.containers[0].securityContext.runAsUser: is 0 beside runAsNonRoot: true, so it never starts: write another user, or "runAsNonRoot: false" [GR-INPUT-06]',
  ],
  [
    {
      ...BUILDKIT,
      podTemplate: {
        spec: {
          securityContext: { runAsUser: 0, runAsNonRoot: true },
          containers: [{ name: 'runner', securityContext: { runAsUser: null } }],
        },
      },
    },
    'spec.podTemplate.spec.securityContext.runAsUser: is 0 beside runAsNonRoot: true, so it never starts: write another user, or "runAsNonRoot: false" [GR-INPUT-06]',
  ],
  // What to write in place of a wrong form. Nothing that may be a secret is repeated.
  [
    { authToken: { valueFrom: { secretKeyRef: { name: 'hunter2', key: 'hunter3' } } } },
    'spec.authToken.valueFrom: unknown field; did you mean "secretRef: {name: …, key: …}"? [GR-INPUT-04]',
  ],
  [
    { authToken: { existingSecret: 'gitea-api' } },
    'spec.authToken.existingSecret: unknown field; did you mean "secretRef: {name: …, key: …}"? [GR-INPUT-04]',
  ],
  [
    { caBundle: { configMap: { name: 'corp-ca', key: 'ca.crt' } } },
    'spec.caBundle.configMap: unknown field; did you mean "configMapRef: {name: …, key: …}"? [GR-INPUT-04]',
  ],
  [
    { authToken: { secretRef: { name: 'runners/gitea-api', key: 'token' } } },
    'spec.authToken.secretRef.name: must be the name of a Secret: lower-case letters, digits, dashes and dots, with a letter or digit at both ends; write the name only, without its namespace [GR-INPUT-05]',
  ],
  [
    runner({ env: { TZ: 'Europe/Berlin' } }),
    'spec.podTemplate.spec.containers[0].env: must be a list, not a mapping; write "- {name: TZ, value: …}" [GR-INPUT-05]',
  ],
  [
    { podTemplate: { spec: { volumes: { cache: { emptyDir: {} } } } } },
    'spec.podTemplate.spec.volumes: must be a list, not a mapping; write "- {name: cache, …}" [GR-INPUT-05]',
  ],
  // A volume may be called like a field of a volume.
  [
    { podTemplate: { spec: { volumes: { secret: { emptyDir: {} } } } } },
    'spec.podTemplate.spec.volumes: must be a list, not a mapping [GR-INPUT-05]',
  ],
  [
    { podTemplate: { spec: { tolerations: { key: 'ci', operator: 'Exists' } } } },
    'spec.podTemplate.spec.tolerations: must be a list, not a mapping; write a dash before its first field [GR-INPUT-05]',
  ],
  [
    { limits: { memory: '4Gi' } },
    'spec.limits: must be a list, not a mapping: limits of a container belong below spec.resources: write "resources: {limits: {…}}" [GR-INPUT-05]',
  ],
  [{ org: ['acme', 'beta'] }, 'spec.org: must be a string, not a list: write one RunnerGroup for each [GR-INPUT-05]'],
  [
    { caBundle: '-----BEGIN CERTIFICATE-----\nMII' },
    'spec.caBundle: must be a mapping, not a certificate: put it into a ConfigMap, and write "caBundle: {configMapRef: {name: …, key: …}}" [GR-INPUT-05]',
  ],
  [
    { runnerConfig: { container: { docker_host: 'unix:///var/run/docker.sock' } } },
    'spec.runnerConfig.container.docker_host: is up to containerMode: remove the line. The only choice, "-", keeps docker from CI jobs [GR-INPUT-05]',
  ],
  [
    { ttlSecondsAfterFinished: '10m' },
    'spec.ttlSecondsAfterFinished: must be a whole number, not the string "10m"; write "ttlSecondsAfterFinished: 600" [GR-INPUT-05]',
  ],
  ...[
    ['4 gi', '; write "4Gi"'],
    ['512 MB', '; write "512M"'],
    ['64 KB', '; write "64k"'],
    // Milli or mega?
    ['500 m', ''],
    ['4..Gib', ''],
  ].map(([text, advice]): [Spec, string] => [
    { resources: { limits: { memory: text } } },
    `spec.resources.limits.memory: must be a Kubernetes quantity, e.g. 500m, 2 or "1.5Gi"; got the string "${text}"${advice} [GR-INPUT-05]`,
  ]),
  [
    { scope: 'repo', org: undefined, repo: 'https://git.corp.io/acme/web.git' },
    'spec.repo: must be a repository in Gitea: "name" or "owner/name"; got the string "https://git.corp.io/…"; write "repo: acme/web" [GR-INPUT-05]',
  ],
  [
    { scope: 'org:acme', org: undefined },
    'spec.scope: must be one of global, org, user, repo, not the string "org:acme"; write "scope: org" and "org: acme" [GR-INPUT-05]',
  ],
  [
    { scope: 'https://gitea.example.com/acme', org: undefined },
    'spec.scope: must be one of global, org, user, repo, not the string "https://gitea.example.com/acme"; write "scope: org" and "org: acme" [GR-INPUT-05]',
  ],
  [
    { scope: 'acme/shop', org: undefined },
    'spec.scope: must be one of global, org, user, repo, not the string "acme/shop"; write "scope: repo" and "repo: acme/shop" [GR-INPUT-05]',
  ],
  [
    { scope: 'user:ann', org: undefined },
    'spec.scope: must be one of global, org, user, repo, not the string "user:ann"; write "scope: user" and "user: ann" [GR-INPUT-05]',
  ],
  [
    { scope: 'Web Team', org: undefined },
    'spec.scope: must be one of global, org, user, repo, not the string "Web Team"; write "scope: org" and "org: …" with the name in the address of its page [GR-INPUT-05]',
  ],
  [
    { scope: '@acme' },
    'spec.scope: must be one of global, org, user, repo, not the string "@acme"; write "scope: org" [GR-INPUT-05]',
  ],
  [
    { org: '@acme' },
    'spec.org: must be a name in Gitea: letters, digits, dots, dashes and underscores; got the string "@acme"; write "org: acme" [GR-INPUT-05]',
  ],
  [
    { org: 'acme/*' },
    'spec.org: must be a name in Gitea: letters, digits, dots, dashes and underscores; got the string "acme/*"; write "org: acme" [GR-INPUT-05]',
  ],
  [
    { org: 'Web Team' },
    'spec.org: must be a name in Gitea: letters, digits, dots, dashes and underscores; got the string "Web Team"; write the name that stands in the address of its page [GR-INPUT-05]',
  ],
  [
    { org: 'ann@example.com' },
    'spec.org: must be a name in Gitea: letters, digits, dots, dashes and underscores; got the string "ann@example.com"; write the name that stands in the address of its page [GR-INPUT-05]',
  ],
  [{ groupLabels: ['a'] }, 'spec.groupLabels: unknown field; did you mean "labels"? [GR-INPUT-04]'],
  [{ runnerImage: 'gitea/runner:1.0.8' }, 'spec.runnerImage: unknown field; did you mean "image"? [GR-INPUT-04]'],
  [
    { maxRunner: 3, maxActiveRunners: undefined },
    'spec.maxRunner: unknown field; did you mean "maxActiveRunners"? [GR-INPUT-04]',
  ],
  [
    { replicaCount: 3, maxActiveRunners: undefined },
    'spec.replicaCount: unknown field; did you mean "maxActiveRunners"? [GR-INPUT-04]',
  ],
  [{ warmPool: 3 }, 'spec.warmPool: unknown field; did you mean "minIdleRunners"? [GR-INPUT-04]'],
  [
    { apiToken: { secretRef: { name: 'a', key: 'b' } }, authToken: undefined },
    'spec.apiToken: unknown field; did you mean "authToken"? [GR-INPUT-04]',
  ],
  [{ cacheUrl: 'http://cache.ci.svc:8088' }, 'spec.cacheUrl: unknown field; write "cache: {url: …}" [GR-INPUT-04]'],
  [
    { httpProxy: 'http://proxy.example.com:3128' },
    'spec.httpProxy: unknown field; write "proxy: {http: …}" [GR-INPUT-04]',
  ],
  [
    { giteaInstance: 'https://gitea.example.com', gitea: undefined },
    'spec.giteaInstance: unknown field; write "gitea: {url: …}" [GR-INPUT-04]',
  ],
  [
    { organizationName: 'acme', org: undefined },
    'spec.organizationName: unknown field; did you mean "org"? [GR-INPUT-04]',
  ],
  [
    { terminationGracePeriodSeconds: 600 },
    'spec.terminationGracePeriodSeconds: unknown field; did you mean "gracefulStopSeconds"? [GR-INPUT-04]',
  ],
  [{ memory: '4Gi' }, 'spec.memory: unknown field; write "resources: {requests: {memory: …}}" [GR-INPUT-04]'],
  [
    { jobTimeout: '3h' },
    'spec.jobTimeout: unknown field; write "runnerConfig: {runner: {timeout: 3h}}" for CI jobs [GR-INPUT-04]',
  ],
  [{ name: 'ci' }, 'spec.name: unknown field; gitea-runners schema lists the known ones [GR-INPUT-04]'],
  // Which two of the four are the repository is not known.
  [
    { scope: 'repo', org: undefined, repo: 'https://git.corp.io/acme/web/src/main' },
    'spec.repo: must be a repository in Gitea: "name" or "owner/name"; got the string "https://git.corp.io/…" [GR-INPUT-05]',
  ],
  [
    { org: 'https://git.corp.io/acme/web.git' },
    'spec.org: must be a name in Gitea: letters, digits, dots, dashes and underscores; got the string "https://git.corp.io/…"; for one repository write "scope: repo" and "repo: acme/web" [GR-INPUT-05]',
  ],
  [
    hours({ schedule: '0 7 * * 1-5' }),
    'spec.idleSchedule[0].schedule: unknown field; there is no cron here: write from, to and days [GR-INPUT-04]',
  ],
  [
    { repositories: ['a - b'], registration: { by: 'serve', for: 'repository' }, registrationToken: undefined },
    'spec.repositories[0]: must be a repository, or a pattern with one "*" (any characters but "/"): "name" or "owner/name", of letters, digits and ._-; got the string "a - b". If " - " begins an item of its own, align its dash with the others [GR-INPUT-05]',
  ],
  // Pairs that the API server refuses in the final pod, although one of the two is ours.
  ...[
    [
      { containerMode: 'dind-rootless', ...runner({ securityContext: HARDENED }) },
      'containers[0]',
      'allowPrivilegeEscalation',
      'remove it, or write "containerMode: dind"',
    ],
    [
      { ...PRIVILEGED, containerMode: 'dind', ...runner({ securityContext: { privileged: true } }) },
      'containers[0]',
      'privileged',
      'write "allowPrivilegeEscalation: true", too',
    ],
    [
      {
        ...PRIVILEGED,
        ...before({
          securityContext: {
            privileged: null,
            allowPrivilegeEscalation: false,
            capabilities: { add: ['CAP_SYS_ADMIN'] },
          },
        }),
      },
      'initContainers[0]',
      'allowPrivilegeEscalation',
    ],
  ].map(([spec, at, field, way]): [Spec, string] => [
    spec as Spec,
    `spec.podTemplate.spec.${at}.securityContext.${field}: ${way ? `with "allowPrivilegeEscalation: false" and "privileged: true" the API server refuses the pod: ${way}` : 'is false beside the capability CAP_SYS_ADMIN, so the API server refuses the pod: remove one of them'} [GR-INPUT-06]`,
  ]),
  [
    { ...PRIVILEGED, ...before({ securityContext: { procMount: 'Unmasked' } }) },
    'spec.podTemplate.spec.initContainers[0].securityContext.procMount: is Unmasked, which needs "hostUsers: false" of the pod: write that, or remove it [GR-INPUT-06]',
  ],
  [
    before({ volumeMounts: [{ name: 'data', mountPath: '/d', mountPropagation: 'Bidirectional' }] }),
    'spec.podTemplate.spec.initContainers[0].volumeMounts[0].mountPropagation: is Bidirectional, which only a privileged container may have: write HostToContainer, or remove it [GR-INPUT-06]',
  ],
  [
    before({ readinessProbe: { tcpSocket: { port: 80 } } }),
    'spec.podTemplate.spec.initContainers[0].readinessProbe: is for containers that run on: remove it, or write "restartPolicy: Always" to make this one a sidecar [GR-INPUT-06]',
  ],
  [
    { resources: { limits: { 'hugepages-2Mi': '64Mi' }, requests: { 'hugepages-2Mi': '64Mi' } } },
    'spec.resources.limits.hugepages-2Mi: needs a request or a limit of cpu or memory beside it: Kubernetes refuses huge pages alone [GR-INPUT-06]',
  ],
  [
    runner({ securityContext: { fsGroup: 1000 } }),
    'spec.podTemplate.spec.containers[0].securityContext.fsGroup: unknown field; it belongs into securityContext of the pod [GR-INPUT-04]',
  ],
  [
    {
      podTemplate: {
        metadata: { annotations: { 'container.apparmor.security.beta.kubernetes.io/main': 'runtime/default' } },
      },
    },
    'spec.podTemplate.metadata.annotations["container.apparmor.security.beta.kubernetes.io/main"]: ends with the name of no container of this pod: correct or remove it [GR-INPUT-05]',
  ],
  ...['/run', '/var/run', '/run/user/'].map((mountPath): [Spec, string] => [
    {
      podTemplate: {
        spec: {
          containers: [{ name: 'runner', volumeMounts: [{ name: 'x', mountPath }] }],
          volumes: [{ name: 'x', emptyDir: {} }],
        },
      },
    },
    'spec.podTemplate.spec.containers[0].volumeMounts[0].mountPath: is reserved: the runner has /run/user/1000 for itself; mount it elsewhere [GR-INPUT-05]',
  ]),
  // Fields of other tools, and fields of ours in another place.
  ...[
    ['concurrent', 10, 'did you mean "maxActiveRunners"?'],
    ['limit', 5, 'did you mean "maxActiveRunners"?'],
    ['executor', 'docker', 'did you mean "containerMode"?'],
    ['check_interval', 3, 'serve knows when Gitea is to be asked. Remove it'],
    ['pollingInterval', 15, 'serve knows when Gitea is to be asked. Remove it'],
    ['dockerdWithinRunnerContainer', true, 'write containerMode: dind-rootless'],
    ['ephemeral', true, 'runners always are. Remove it'],
    ['failedJobsHistoryLimit', 1, 'write ttlSecondsAfterFinished'],
    ['minutes', 5, 'it belongs below spec.idleDemand: move it there'],
    ['namespace', 'ci', 'it belongs below metadata: move it there'],
  ].map(([field, value, way]): [Spec, string] => [
    { [String(field)]: value, ...(/maxA/.test(String(way)) && { maxActiveRunners: undefined }) },
    `spec.${field}: unknown field; ${way} [GR-INPUT-04]`,
  ]),
  [
    { maxActiveRunners: undefined },
    'metadata.maxActiveRunners: unknown field; it belongs below spec: move it there [GR-INPUT-04]',
    { maxActiveRunners: 3 },
  ],
  ...[
    [{ nodeSelector: { a: 'b' } }, 'nodeSelector: unknown field; it belongs into spec'],
    ...[
      ['template', { template: { spec: {} } }] as const,
      ['spec.template', { spec: { template: { spec: {} } } }] as const,
      ['spec.jobTemplate', { spec: { jobTemplate: {} } }] as const,
      ['spec.spec', { spec: { spec: {} } }] as const,
      ['spec.replicas', { spec: { replicas: 2 } }] as const,
    ].map(
      ([place, template]) =>
        [
          template,
          `${place}: unknown field; podTemplate is the template itself: write the spec of the pod below podTemplate.spec`,
        ] as const,
    ),
    [{ metadata: { tolerations: [] } }, 'metadata.tolerations: unknown field; it belongs into spec'],
    [{ spec: { volumeMounts: [] } }, 'spec.volumeMounts: unknown field; it belongs into a container'],
  ].map(([podTemplate, told]): [Spec, string] => [{ podTemplate }, `spec.podTemplate.${told} [GR-INPUT-04]`]),
  // The meaning comes before the type, and a unit is named.
  ...[2, '2'].map((fetch_interval): [Spec, string] => [
    { runnerConfig: { runner: { fetch_interval } } },
    `spec.runnerConfig.runner.fetch_interval: must be a duration with its unit, e.g. 30s, 5m or 1h30m${typeof fetch_interval === 'number' ? ', not the number 2' : '; got the string "2"'}; write "2s" [GR-INPUT-05]`,
  ]),
  [
    { idleDemand: { minutes: 900, most: 3 } },
    'spec.idleDemand.minutes: must be at most 120, not the number 900; if these are seconds, write "minutes: 15" [GR-INPUT-05]',
  ],
  [
    { spawnTimeoutSeconds: 300_000 },
    'spec.spawnTimeoutSeconds: must be at most 86400, not the number 300000; if these are milliseconds, write "spawnTimeoutSeconds: 300" [GR-INPUT-05]',
  ],
  [
    hours({ days: ['Mon-Fri'] }),
    'spec.idleSchedule[0].days[0]: must be one of Mon, Tue, Wed, Thu, Fri, Sat, Sun, not the string "Mon-Fri"; write Mon, Tue, Wed, Thu, Fri [GR-INPUT-05]',
  ],
  [
    hours({ timeZone: 'CET+1' }),
    'spec.idleSchedule[0].timeZone: must be the IANA name of a time zone, e.g. Europe/Berlin: this one is not known; got the string "CET+1"; write a city, e.g. Europe/Berlin, or "Etc/GMT-1" [GR-INPUT-05]',
  ],
  // The way of a webhook is a secret.
  [
    { notify: [{ webhook: 'https://hooks.slack.com/services/T01/B02/Zx9Yw8Vu7Ts6Rq5' }] },
    'spec.notify[0].webhook: must be a mapping, not the string "https://hooks.slack.com/…"; write "webhook: {url: …}" [GR-INPUT-05]',
  ],
  [
    { notify: [{ slack: { channel: '#ci' }, on: ['failure'] }] },
    'spec.notify[0].on: must be one of failure, success, always, not a list; write failure, without brackets [GR-INPUT-05]',
  ],
  [
    { podTemplate: { spec: { volumes: [{ name: 'a', emptyDir: { medium: 'memory' } }] } } },
    'spec.podTemplate.spec.volumes[0].emptyDir.medium: must be one of Memory, HugePages, not "memory"; did you mean Memory? [GR-INPUT-05]',
  ],
  [
    { podTemplate: { spec: { enableServiceLinks: 'no' } } },
    'spec.podTemplate.spec.enableServiceLinks: must be true or false, not a string; write "enableServiceLinks: false" [GR-INPUT-05]',
  ],
  [
    runner({ ports: [{ containerPort: '8080' }] }),
    'spec.podTemplate.spec.containers[0].ports[0].containerPort: must be a whole number of 32 bits, not a string; remove the quotes: containerPort: 8080 [GR-INPUT-05]',
  ],
  [
    { podTemplate: { spec: { hostAliases: [{ ip: '10.0.0.1', hostnames: 'gitea.lan' }] } } },
    'spec.podTemplate.spec.hostAliases[0].hostnames: must be a list, not a string; write "hostnames: […]" [GR-INPUT-05]',
  ],
  // A podTemplate has the words of the spec.
  [
    { podTemplate: { spec: { imagePullSecrets: ['registry'] } } },
    'spec.podTemplate.spec.imagePullSecrets[0]: must be a mapping, not a string; write "- name: …" [GR-INPUT-05]',
  ],
  [
    { podTemplate: { spec: { volumes: [{ name: 'data', emptyDir: { sizeLimit: '10GB' } }] } } },
    'spec.podTemplate.spec.volumes[0].emptyDir.sizeLimit: must be a quantity, e.g. 500m or 2Gi; write "10G" [GR-INPUT-05]',
  ],
  [
    { podTemplate: { spec: { preemptionPolicy: false } } },
    'spec.podTemplate.spec.preemptionPolicy: must be a string, not true or false, which YAML makes of y, n, yes, no, on and off, too; write it in quotes [GR-INPUT-05]',
  ],
  [
    { podTemplate: { spec: { hostUsers: 'false' } } },
    'spec.podTemplate.spec.hostUsers: must be true or false, not a string; remove the quotes: hostUsers: false [GR-INPUT-05]',
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
    lines.map((line) => line.replace(/^ci\.yaml:\d+:\d+: /, '')).filter((line) => !/^1 Runner|GR-WARN-06/.test(line)),
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

it.each<[string, Spec]>([
  [
    'a shell, Kubernetes and drivers fill them in',
    {
      setupCommand: ['sh', '-c', 'echo ${HOME} $1 %A%'],
      runnerConfig: { runner: { envs: { A: '$HOME' } } },
      podTemplate: {
        metadata: { annotations: { note: '<who> {{ x }}' } },
        spec: {
          containers: [
            {
              name: 'runner',
              env: [{ name: 'A', value: '$(B)' }],
              volumeMounts: [{ name: 'c', mountPath: '/c', subPathExpr: '$(A)' }],
            },
          ],
          initContainers: [{ name: 'a', image: 'a:1', command: ['sh', '-c'], args: ['echo ${A}'] }],
          volumes: [{ name: 'c', csi: { driver: 'a.example.com', volumeAttributes: { dns: '${POD_NAME}' } } }],
        },
      },
    },
  ],
  [
    'a claim of each repository',
    {
      registration: { by: 'serve', for: 'repository' },
      registrationToken: undefined,
      podTemplate: { spec: { volumes: [{ name: 'c', persistentVolumeClaim: { claimName: 'c-${REPOSITORY}' } }] } },
    },
  ],
  ['a label as Gitea takes it', { labels: ['<img>:host', '{{x}}', '%ARCH%'], defaultLabels: false }],
  ['a URL that is escaped', { gitea: { url: 'https://gitea.example.com/%E3%81%82' } }],
  [
    'a template that mends what the group says',
    {
      resources: { requests: { memory: '4Gi', 'nvidia.com/gpu': 1 } },
      ...runner({ resources: { limits: { memory: '4Gi', 'nvidia.com/gpu': '1' } } }),
    },
  ],
  [
    'root where it may be',
    { containerMode: 'dind', ...runner({ securityContext: { runAsUser: 0, runAsNonRoot: false } }) },
  ],
  [
    'a folder beside the socket of a sidecar, and the folder of the socket itself',
    {
      podTemplate: {
        spec: {
          containers: [{ name: 'runner', volumeMounts: [{ name: 'x', mountPath: '/run/user/1000' }] }],
          volumes: [{ name: 'x', emptyDir: {} }],
        },
      },
    },
  ],
])('no error: %s', async (_, spec) => {
  const { code, stderr } = await runHere(['validate', 'ci.yaml'], {}, folderWith({ 'ci.yaml': quietDocument(spec) }));

  expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.not.stringContaining('GR-INPUT') });
});

it.each([
  ['a: 1\nlabels: [a,\n b,\nc: 1\n', 2, 9, ']'],
  ['a: {b: 1,\nc: 1\nd: 2\n', 1, 4, '}'],
])('a bracket that is not closed is told where it opens: %j', async (text, row, column, bracket) => {
  const { stderr } = await runHere(['validate', 'x.yaml'], {}, folderWith({ 'x.yaml': text }));

  expect(stderr).toContain(
    `x.yaml:${row}:${column}: is no valid YAML: a "${bracket}" is missing at the end of this list or mapping`,
  );
});

it.each([
  ['gitea: {url: https://${HOST}}', 1, 22],
  ['labels: [${LABEL}, linux]', 1, 10],
])('a placeholder that is no YAML: %s', async (line, row, column) => {
  const { stderr } = await runHere(['validate', 'x.yaml'], {}, folderWith({ 'x.yaml': `${line}\n` }));

  expect(stderr).toContain(
    `x.yaml:${row}:${column}: is no valid YAML: this looks like a template ("\${"): render it first`,
  );
});

it.each([
  ['```yaml\na: 1\n```\n', 1, 1, 'a line of Markdown (```) stands here: remove it'],
  ['a: 1\n```\n', 2, 1, 'a line of Markdown (```) stands here: remove it'],
  // A fence in a block scalar is no mistake.
  ['a: |\n  ```\n  x\n  ```\nb: "acme\n', 5, 4, 'a quote (") is opened and never closed'],
  ['# it\'s\na: it\'s "x"\norg: "acme \\"\nb: 1\n', 3, 6, 'a quote (") is opened and never closed'],
  ["a: 'x'\r\nc: ['it''s, 1]\r\n---\r\nb: 1\r\n", 2, 5, "a quote (') is opened and never closed"],
])('a mistake is told where it begins: %j', async (text, row, column, message) => {
  const { stderr } = await runHere(['validate', 'x.yaml'], {}, folderWith({ 'x.yaml': text }));

  expect(stderr).toContain(`x.yaml:${row}:${column}: is no valid YAML: ${message}`);
});
