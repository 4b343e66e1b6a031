// biome-ignore-all lint/suspicious/noTemplateCurlyInString: what templates leave is tested here.
/** Tests the messages of `validate` about mistakes of people who come from other tools, word for word. */
import { expect, it } from 'vitest';
import { quietDocument, type Spec } from '../support/group-files.ts';
import { specRows } from '../support/rows.ts';
import { folderWith, runHere } from '../support/run-cli.ts';

async function told(spec: Spec, metadata: Spec = {}): Promise<readonly string[]> {
  const folder = folderWith({ 'ci.yaml': quietDocument(spec, metadata) });
  const { stderr } = await runHere(['validate', 'ci.yaml'], {}, folder);
  const lines = stderr.trimEnd().split('\n');
  return lines
    .map((line) => line.replace(/^ci\.yaml:\d+:\d+: /, ''))
    .filter((line) => !/^1 Runner|GR-WARN-06/.test(line));
}

/** What `validate` says, and fields of spec. */
const MISTAKES = specRows(`
spec.labels: must be a list, not the string "ubuntu-latest,small"; write "labels: [ubuntu-latest, small]" [GR-INPUT-05]
  labels: "ubuntu-latest,small"
spec.maxActiveRunners: must be a whole number, not the string "10"; remove the quotes: maxActiveRunners: 10 [GR-INPUT-05]
  maxActiveRunners: "10"
spec.securityProfile: spec.initContainers[docker].securityContext.privileged must not be true (rule privileged of securityProfile restricted), and 4 more rules; containerMode dind does not meet it: set containerMode: host, or remove securityProfile [GR-INPUT-10]
  {securityProfile: restricted, containerMode: dind}
spec.containerMode: must be one of dind-rootless, dind, buildkit, host, not a mapping; write "containerMode: dind" [GR-INPUT-05]
  containerMode: {type: dind}
spec.labels[0]: "u:doker://node:20" is neither name:host nor name:docker://image; did you mean "u:docker://node:20"? [GR-INPUT-06]
  labels: [u:doker://node:20]
spec.labels[0]: "docker://node:20" is neither name:host nor name:docker://image; it lacks its name: write "ubuntu-latest:docker://node:20" [GR-INPUT-06]
  labels: [docker://node:20]
spec.labels[0]: "u:node:20" is neither name:host nor name:docker://image; did you mean "u:docker://node:20"? [GR-INPUT-06]
  labels: [u:node:20]
spec.maxReplicaCount: unknown field; did you mean "maxActiveRunners"? [GR-INPUT-04]
  {maxActiveRunners: ~, maxReplicaCount: 10}
spec.runner: unknown field; it belongs below spec.runnerConfig: move it there [GR-INPUT-04]
  runner: {labels: [a]}
warning: spec.resources: is missing, so runner pods ask for nothing: a node takes too many of them, and ends them first when memory is short. Write e.g. "resources: {requests: {cpu: 500m, memory: 1Gi}}" [GR-WARN-08]
  resources: ~
warning: spec.labels: runners are Linux pods, and jobs with runs-on windows-latest would run there: remove the label [GR-WARN-09]
  labels: [windows-latest:host]
warning: spec.image: code.forgejo.org/forgejo/runner:6.3.1 looks like Forgejo's runner, which does not register at Gitea: use gitea/runner [GR-WARN-09]
  image: code.forgejo.org/forgejo/runner:6.3.1
spec.gitea.url: must be an http or https URL without credentials, query or fragment, e.g. https://gitea.example.com; write "https://git.example.org" [GR-INPUT-05]
  gitea: {url: git.example.org}
spec.gitea.url: must be an http or https URL without credentials, query or fragment, e.g. https://gitea.example.com; write "https://git.example.org" [GR-INPUT-05]
  gitea: {url: git@git.example.org:acme/web.git}
spec.gitea.url: must be an http or https URL without credentials, query or fragment, e.g. https://gitea.example.com. If a password of it is real, revoke it [GR-INPUT-05]
  gitea: {url: https://bot:s3cr3t@git.example.org}
spec.resources.requests.memory: must be a Kubernetes quantity, e.g. 500m, 2 or "1.5Gi"; got the string "1GB"; write "1G" [GR-INPUT-05]
  resources: {requests: {cpu: 1, memory: 1GB}}
spec.proxy.noProxy[0]: must be a host name (with a dot before it: all hosts below it), an IP address or a CIDR block, e.g. .example.internal or 10.0.0.0/8; got the string "*.svc"; write ".svc" [GR-INPUT-05]
  proxy: {http: http://proxy:3128, noProxy: ["*.svc"]}
spec.podTemplate.spec.tolerations[0].operator: must be one of Exists, Equal, not "Exist"; did you mean Exists? [GR-INPUT-05]
  podTemplate: {spec: {tolerations: [{key: ci, operator: Exist}]}}
spec.podTemplate.spec.volumes[0].hostPath: must not be set: it is a folder of the node (rule hostPathVolumes of securityProfile baseline, the default of containerMode dind-rootless): remove it, or set securityProfile: privileged, which needs a policy [GR-INPUT-10]
  podTemplate: {spec: {containers: [{name: runner, volumeMounts: [{name: c, mountPath: /srv}]}], volumes: [{name: c, hostPath: {path: /srv}}]}}
warning: spec.resources: is missing, so runner pods ask for nothing: a node takes too many of them, and ends them first when memory is short. Write e.g. "resources: {requests: {cpu: 500m, memory: 1Gi}}" [GR-WARN-08]
  {resources: ~, podTemplate: {metadata: {labels: {team: web}}}}
spec.idleSchedule[0].from: must be a time of the day, e.g. "07:00"; got the string "8:00"; write "08:00" [GR-INPUT-05]
  idleSchedule: [{runners: 1, from: 8:00, to: 19:00}]
spec.idleSchedule[0].to: must be a time of the day, e.g. "07:00"; got the string "8pm" [GR-INPUT-05]
  idleSchedule: [{runners: 1, from: 07:00, to: 8pm}]
spec.gitea.url: must be the value itself, not a placeholder, which nobody has filled in, e.g. "url: https://gitea.example.com" [GR-INPUT-05]
  gitea: {url: "https://\${GITEA_HOST}"}
spec.org: must be the value itself, not "\${ORG}", which nobody has filled in [GR-INPUT-05]
  org: "\${ORG}"
spec.org: must be the value itself, not "$ORG", which nobody has filled in [GR-INPUT-05]
  org: $ORG
spec.org: must be the value itself, not "$(ORG)", which nobody has filled in [GR-INPUT-05]
  org: $(ORG)
spec.org: must be the value itself, not "{{ .Values.org }}", which nobody has filled in [GR-INPUT-05]
  org: "{{ .Values.org }}"
spec.org: must be the value itself, not "<your-org>", which nobody has filled in [GR-INPUT-05]
  org: <your-org>
spec.org: must be the value itself, not "%ORG%", which nobody has filled in [GR-INPUT-05]
  org: "%ORG%"
spec.podTemplate.spec.volumes[0].persistentVolumeClaim.claimName: must be the value itself, not "\${TEAM}", which nobody has filled in [GR-INPUT-05]
  podTemplate: {spec: {serviceAccountName: a, volumes: [{name: a, persistentVolumeClaim: {claimName: "x-\${TEAM}"}}]}}
spec.minIdleRunners: must be a whole number, not the string "20%"; a share is not known here: write how many [GR-INPUT-05]
  minIdleRunners: 20%
spec.proxy.http: must be an http or https URL with a port and without a path, e.g. http://proxy.example.com:3128; write "http://proxy:3128" [GR-INPUT-05]
  proxy: {http: proxy:3128}
spec.proxy.noProxy: must be a list, not the string ".svc,10.0.0.0/8"; write "noProxy: [.svc, 10.0.0.0/8]" [GR-INPUT-05]
  proxy: {http: http://proxy:3128, noProxy: ".svc,10.0.0.0/8"}
# Resources of the final container: in the group, in its template, and one of each.
spec.resources.requests.memory: is 4Gi, more than its limit 2Gi: write "memory: 2Gi", or raise spec.podTemplate.spec.containers[0].resources.limits.memory [GR-INPUT-06]
  resources: {requests: {memory: 4Gi}}
  podTemplate: {spec: {containers: [{name: runner, resources: {limits: {memory: 2Gi}}}]}}
spec.podTemplate.spec.containers[0].resources.requests.cpu: is 2, more than its limit 1: write "cpu: 1", or raise spec.podTemplate.spec.containers[0].resources.limits.cpu [GR-INPUT-06]
  podTemplate: {spec: {containers: [{name: runner, resources: {requests: {cpu: 2}, limits: {cpu: 1}}}]}}
spec.sizes[0].resources.requests.memory: is 8Gi, more than its limit 4Gi: write "memory: 4Gi", or raise spec.podTemplate.spec.containers[0].resources.limits.memory [GR-INPUT-06]
  sizes: [{name: large, resources: {requests: {cpu: 1, memory: 8Gi}}}]
  podTemplate: {spec: {containers: [{name: runner, resources: {limits: {memory: 4Gi}}}]}}
spec.resources.requests.cpu: is 1, more than its limit 500m: write "cpu: 500m", or raise spec.sizes[0].podTemplate.spec.containers[0].resources.limits.cpu [GR-INPUT-06]
  resources: {requests: {cpu: 1}}
  sizes: [{name: large, podTemplate: {spec: {containers: [{name: runner, resources: {limits: {cpu: 500m}}}]}}}]
spec.resources.requests["nvidia.com/gpu"]: must have an equal limit: Kubernetes does not overcommit this resource. Write "limits: {nvidia.com/gpu: 1}" [GR-INPUT-06]
  resources: {requests: {nvidia.com/gpu: 1}}
spec.podTemplate.spec.containers[0].resources.limits.memory: is -1, and must not be below 0: write an amount [GR-INPUT-06]
  podTemplate: {spec: {containers: [{name: runner, resources: {limits: {cpu: 1, memory: -1}}}]}}
spec.podTemplate.spec.containers[0].resources.limits.cpus: is no resource of a container; did you mean "cpu"? [GR-INPUT-06]
  podTemplate: {spec: {containers: [{name: runner, resources: {limits: {cpus: 1}}}]}}
spec.resources.limits["nvidia.com/gpu"]: must be a whole number, because Kubernetes gives no part of a device: write "nvidia.com/gpu: 1" [GR-INPUT-06]
  resources: {limits: {nvidia.com/gpu: 500m}}
spec.resources.limits.hugepages-2Mi: must be whole pages of 2Mi: write "hugepages-2Mi: 6Mi" [GR-INPUT-06]
  resources: {limits: {hugepages-2Mi: 5Mi, memory: 1Gi}}
spec.podTemplate.spec.containers[0].readinessProbe.httpGet.port: is the name of no port of this container: write its number, or add it to ports [GR-INPUT-06]
  podTemplate: {spec: {containers: [{name: runner, readinessProbe: {httpGet: {port: metrics}}}]}}
spec.podTemplate.spec.tolerations[0].operator: must be one of Exists, Equal, not "Equals"; did you mean Equal? [GR-INPUT-05]
  podTemplate: {spec: {tolerations: [{key: ci, operator: Equals, value: a}]}}
# The runner of mode dind must not be root.
spec.podTemplate.spec.containers[0].securityContext.runAsUser: is 0 beside runAsNonRoot: true, so it never starts: write another user, or "runAsNonRoot: false" [GR-INPUT-06]
  {containerMode: dind, podTemplate: {spec: {containers: [{name: runner, securityContext: {runAsUser: 0}}]}}}
spec.podTemplate.spec.securityContext.runAsUser: is 0 beside runAsNonRoot: true, so it never starts: write another user, or "runAsNonRoot: false" [GR-INPUT-06]
  containerMode: buildkit
  labels: [linux]
  podTemplate: {spec: {securityContext: {runAsUser: 0, runAsNonRoot: true}, containers: [{name: runner, securityContext: {runAsUser: ~}}]}}
# What to write in place of a wrong form. Nothing that may be a secret is repeated.
spec.authToken.valueFrom: unknown field; did you mean "secretRef: {name: …, key: …}"? [GR-INPUT-04]
  authToken: {valueFrom: {secretKeyRef: {name: hunter2, key: hunter3}}}
spec.authToken.existingSecret: unknown field; did you mean "secretRef: {name: …, key: …}"? [GR-INPUT-04]
  authToken: {existingSecret: gitea-api}
spec.caBundle.configMap: unknown field; did you mean "configMapRef: {name: …, key: …}"? [GR-INPUT-04]
  caBundle: {configMap: {name: corp-ca, key: ca.crt}}
spec.authToken.secretRef.name: must be the name of a Secret: lower-case letters, digits, dashes and dots, with a letter or digit at both ends; write the name only, without its namespace [GR-INPUT-05]
  authToken: {secretRef: {name: runners/gitea-api, key: token}}
spec.podTemplate.spec.containers[0].env: must be a list, not a mapping; write "- {name: TZ, value: …}" [GR-INPUT-05]
  podTemplate: {spec: {containers: [{name: runner, env: {TZ: Europe/Berlin}}]}}
spec.podTemplate.spec.volumes: must be a list, not a mapping; write "- {name: cache, …}" [GR-INPUT-05]
  podTemplate: {spec: {volumes: {cache: {emptyDir: {}}}}}
# A volume may be called like a field of a volume.
spec.podTemplate.spec.volumes: must be a list, not a mapping [GR-INPUT-05]
  podTemplate: {spec: {volumes: {secret: {emptyDir: {}}}}}
spec.podTemplate.spec.tolerations: must be a list, not a mapping; write a dash before its first field [GR-INPUT-05]
  podTemplate: {spec: {tolerations: {key: ci, operator: Exists}}}
spec.limits: must be a list, not a mapping: limits of a container belong below spec.resources: write "resources: {limits: {…}}" [GR-INPUT-05]
  limits: {memory: 4Gi}
spec.org: must be a string, not a list: write one RunnerGroup for each [GR-INPUT-05]
  org: [acme, beta]
spec.caBundle: must be a mapping, not a certificate: put it into a ConfigMap, and write "caBundle: {configMapRef: {name: …, key: …}}" [GR-INPUT-05]
  
    caBundle: -----BEGIN CERTIFICATE-----
  
      MII
  
spec.runnerConfig.container.docker_host: is up to containerMode: remove the line. The only choice, "-", keeps docker from CI jobs [GR-INPUT-05]
  runnerConfig: {container: {docker_host: unix:///var/run/docker.sock}}
spec.ttlSecondsAfterFinished: must be a whole number, not the string "10m"; write "ttlSecondsAfterFinished: 600" [GR-INPUT-05]
  ttlSecondsAfterFinished: 10m
spec.resources.limits.memory: must be a Kubernetes quantity, e.g. 500m, 2 or "1.5Gi"; got the string "4 gi"; write "4Gi" [GR-INPUT-05]
  resources: {limits: {memory: 4 gi}}
spec.resources.limits.memory: must be a Kubernetes quantity, e.g. 500m, 2 or "1.5Gi"; got the string "512 MB"; write "512M" [GR-INPUT-05]
  resources: {limits: {memory: 512 MB}}
spec.resources.limits.memory: must be a Kubernetes quantity, e.g. 500m, 2 or "1.5Gi"; got the string "64 KB"; write "64k" [GR-INPUT-05]
  resources: {limits: {memory: 64 KB}}
spec.resources.limits.memory: must be a Kubernetes quantity, e.g. 500m, 2 or "1.5Gi"; got the string "500 m" [GR-INPUT-05]
  resources: {limits: {memory: 500 m}}
spec.resources.limits.memory: must be a Kubernetes quantity, e.g. 500m, 2 or "1.5Gi"; got the string "4..Gib" [GR-INPUT-05]
  resources: {limits: {memory: 4..Gib}}
# Milli or mega?
spec.repo: must be a repository in Gitea: "name" or "owner/name"; got the string "https://git.corp.io/…"; write "repo: acme/web" [GR-INPUT-05]
  {scope: repo, org: ~, repo: https://git.corp.io/acme/web.git}
spec.scope: must be one of global, org, user, repo, not the string "org:acme"; write "scope: org" and "org: acme" [GR-INPUT-05]
  {scope: org:acme, org: ~}
spec.scope: must be one of global, org, user, repo, not the string "https://gitea.example.com/acme"; write "scope: org" and "org: acme" [GR-INPUT-05]
  {scope: https://gitea.example.com/acme, org: ~}
spec.scope: must be one of global, org, user, repo, not the string "acme/shop"; write "scope: repo" and "repo: acme/shop" [GR-INPUT-05]
  {scope: acme/shop, org: ~}
spec.scope: must be one of global, org, user, repo, not the string "user:ann"; write "scope: user" and "user: ann" [GR-INPUT-05]
  {scope: user:ann, org: ~}
spec.scope: must be one of global, org, user, repo, not the string "Web Team"; write "scope: org" and "org: …" with the name in the address of its page [GR-INPUT-05]
  {scope: Web Team, org: ~}
spec.scope: must be one of global, org, user, repo, not the string "@acme"; write "scope: org" [GR-INPUT-05]
  scope: "@acme"
spec.org: must be a name in Gitea: letters, digits, dots, dashes and underscores; got the string "@acme"; write "org: acme" [GR-INPUT-05]
  org: "@acme"
spec.org: must be a name in Gitea: letters, digits, dots, dashes and underscores; got the string "acme/*"; write "org: acme" [GR-INPUT-05]
  org: acme/*
spec.org: must be a name in Gitea: letters, digits, dots, dashes and underscores; got the string "Web Team"; write the name that stands in the address of its page [GR-INPUT-05]
  org: Web Team
spec.org: must be a name in Gitea: letters, digits, dots, dashes and underscores; got the string "ann@example.com"; write the name that stands in the address of its page [GR-INPUT-05]
  org: ann@example.com
spec.groupLabels: unknown field; did you mean "labels"? [GR-INPUT-04]
  groupLabels: [a]
spec.runnerImage: unknown field; did you mean "image"? [GR-INPUT-04]
  runnerImage: gitea/runner:1.0.8
spec.maxRunner: unknown field; did you mean "maxActiveRunners"? [GR-INPUT-04]
  {maxRunner: 3, maxActiveRunners: ~}
spec.replicaCount: unknown field; did you mean "maxActiveRunners"? [GR-INPUT-04]
  {replicaCount: 3, maxActiveRunners: ~}
spec.warmPool: unknown field; did you mean "minIdleRunners"? [GR-INPUT-04]
  warmPool: 3
spec.apiToken: unknown field; did you mean "authToken"? [GR-INPUT-04]
  {apiToken: {secretRef: {name: a, key: b}}, authToken: ~}
spec.cacheUrl: unknown field; write "cache: {url: …}" [GR-INPUT-04]
  cacheUrl: http://cache.ci.svc:8088
spec.httpProxy: unknown field; write "proxy: {http: …}" [GR-INPUT-04]
  httpProxy: http://proxy.example.com:3128
spec.giteaInstance: unknown field; write "gitea: {url: …}" [GR-INPUT-04]
  {giteaInstance: https://gitea.example.com, gitea: ~}
spec.organizationName: unknown field; did you mean "org"? [GR-INPUT-04]
  {organizationName: acme, org: ~}
spec.terminationGracePeriodSeconds: unknown field; did you mean "gracefulStopSeconds"? [GR-INPUT-04]
  terminationGracePeriodSeconds: 600
spec.memory: unknown field; write "resources: {requests: {memory: …}}" [GR-INPUT-04]
  memory: 4Gi
spec.jobTimeout: unknown field; write activeDeadlineSeconds [GR-INPUT-04]
  jobTimeout: 3h
spec.name: unknown field; gitea-runners schema lists the known ones [GR-INPUT-04]
  name: ci
# Which two of the four are the repository is not known.
spec.repo: must be a repository in Gitea: "name" or "owner/name"; got the string "https://git.corp.io/…" [GR-INPUT-05]
  {scope: repo, org: ~, repo: https://git.corp.io/acme/web/src/main}
spec.org: must be a name in Gitea: letters, digits, dots, dashes and underscores; got the string "https://git.corp.io/…"; for one repository write "scope: repo" and "repo: acme/web" [GR-INPUT-05]
  org: https://git.corp.io/acme/web.git
spec.idleSchedule[0].schedule: unknown field; there is no cron here: write from, to and days [GR-INPUT-04]
  idleSchedule: [{runners: 1, from: 07:00, to: 19:00, schedule: 0 7 * * 1-5}]
spec.repositories[0]: must be a repository, or a pattern with one "*" (any characters but "/"): "name" or "owner/name", of letters, digits and ._-; got the string "a - b". If " - " begins an item of its own, align its dash with the others [GR-INPUT-05]
  {repositories: [a - b], registration: {by: serve, for: repository}, registrationToken: ~}
# Pairs that the API server refuses in the final pod, although one of the two is ours.
spec.podTemplate.spec.containers[0].securityContext.allowPrivilegeEscalation: with "allowPrivilegeEscalation: false" and "privileged: true" the API server refuses the pod: remove it, or write "containerMode: dind" [GR-INPUT-06]
  containerMode: dind-rootless
  podTemplate: {spec: {containers: [{name: runner, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}]}}
spec.podTemplate.spec.containers[0].securityContext.privileged: with "allowPrivilegeEscalation: false" and "privileged: true" the API server refuses the pod: write "allowPrivilegeEscalation: true", too [GR-INPUT-06]
  securityProfile: privileged
  containerMode: dind
  podTemplate: {spec: {containers: [{name: runner, securityContext: {privileged: true}}]}}
spec.podTemplate.spec.initContainers[0].securityContext.allowPrivilegeEscalation: is false beside the capability CAP_SYS_ADMIN, so the API server refuses the pod: remove one of them [GR-INPUT-06]
  securityProfile: privileged
  podTemplate: {spec: {initContainers: [{name: a, image: a:1, securityContext: {privileged: ~, allowPrivilegeEscalation: false, capabilities: {add: [CAP_SYS_ADMIN]}}}]}}
spec.podTemplate.spec.initContainers[0].securityContext.procMount: is Unmasked, which needs "hostUsers: false" of the pod: write that, or remove it [GR-INPUT-06]
  securityProfile: privileged
  podTemplate: {spec: {initContainers: [{name: a, image: a:1, securityContext: {procMount: Unmasked}}]}}
spec.podTemplate.spec.initContainers[0].volumeMounts[0].mountPropagation: is Bidirectional, which only a privileged container may have: write HostToContainer, or remove it [GR-INPUT-06]
  podTemplate: {spec: {initContainers: [{name: a, image: a:1, volumeMounts: [{name: data, mountPath: /d, mountPropagation: Bidirectional}]}]}}
spec.podTemplate.spec.initContainers[0].readinessProbe: is for containers that run on: remove it, or write "restartPolicy: Always" to make this one a sidecar [GR-INPUT-06]
  podTemplate: {spec: {initContainers: [{name: a, image: a:1, readinessProbe: {tcpSocket: {port: 80}}}]}}
spec.resources.limits.hugepages-2Mi: needs a request or a limit of cpu or memory beside it: Kubernetes refuses huge pages alone [GR-INPUT-06]
  resources: {limits: {hugepages-2Mi: 64Mi}, requests: {hugepages-2Mi: 64Mi}}
spec.podTemplate.spec.containers[0].privileged: unknown field; write "securityContext: {privileged: …}" [GR-INPUT-04]
  podTemplate: {spec: {containers: [{name: runner, privileged: true}]}}
spec.podTemplate.spec.runAsUser: unknown field; write "securityContext: {runAsUser: …}" [GR-INPUT-04]
  podTemplate: {spec: {runAsUser: 1000}}
spec.idleSchedule[0].days[0]: must be one of Mon, Tue, Wed, Thu, Fri, Sat, Sun, not the string "Monday"; did you mean "Mon"? [GR-INPUT-05]
  idleSchedule: [{runners: 1, from: "08:00", to: "19:00", days: [Monday]}]
spec.resources.limits.cpu: must be a Kubernetes quantity, e.g. 500m, 2 or "1.5Gi"; got the string "2 cores"; write "2" [GR-INPUT-05]
  resources: {requests: {cpu: 1}, limits: {cpu: 2 cores}}
spec.podTemplate.spec.tolerations[0]: must be a mapping, not a string; write "- {effect: …, key: …, operator: …, tolerationSeconds: …, value: …}" [GR-INPUT-05]
  podTemplate: {spec: {tolerations: ["ci=true:NoSchedule"]}}
spec.podTemplate.spec.containers[0].envFrom[0].secretRef: must be a mapping, not a string; write "secretRef: {name: …}" [GR-INPUT-05]
  podTemplate: {spec: {containers: [{name: runner, envFrom: [{secretRef: x}]}]}}
spec.podTemplate.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution: must be a mapping, not a list; write "requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: …}" [GR-INPUT-05]
  podTemplate: {spec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{key: a}]}}}}
spec.containerMode: must be one of dind-rootless, dind, buildkit, host, not a mapping; write "containerMode: host" [GR-INPUT-05]
  containerMode: {type: kubernetes}
spec.resources.cpu: unknown field; write "requests: {cpu: …}" [GR-INPUT-04]
  resources: {cpu: 1}
spec.notify: must be a list, not a mapping; write "notify: [{slack: …}]" [GR-INPUT-05]
  notify: {slack: "#ci"}
spec.podTemplate.spec.containers[0].securityContext.fsGroup: unknown field; it belongs into securityContext of the pod [GR-INPUT-04]
  podTemplate: {spec: {containers: [{name: runner, securityContext: {fsGroup: 1000}}]}}
spec.podTemplate.metadata.annotations["container.apparmor.security.beta.kubernetes.io/main"]: ends with the name of no container of this pod: correct or remove it [GR-INPUT-05]
  podTemplate: {metadata: {annotations: {container.apparmor.security.beta.kubernetes.io/main: runtime/default}}}
spec.podTemplate.spec.containers[0].volumeMounts[0].mountPath: is reserved: the runner has /run/user/1000 for itself; mount it elsewhere [GR-INPUT-05]
  podTemplate: {spec: {containers: [{name: runner, volumeMounts: [{name: x, mountPath: /run}]}], volumes: [{name: x, emptyDir: {}}]}}
spec.podTemplate.spec.containers[0].volumeMounts[0].mountPath: is reserved: the runner has /run/user/1000 for itself; mount it elsewhere [GR-INPUT-05]
  podTemplate: {spec: {containers: [{name: runner, volumeMounts: [{name: x, mountPath: /var/run}]}], volumes: [{name: x, emptyDir: {}}]}}
spec.podTemplate.spec.containers[0].volumeMounts[0].mountPath: is reserved: the runner has /run/user/1000 for itself; mount it elsewhere [GR-INPUT-05]
  podTemplate: {spec: {containers: [{name: runner, volumeMounts: [{name: x, mountPath: /run/user/}]}], volumes: [{name: x, emptyDir: {}}]}}
# Fields of other tools, and fields of ours in another place.
spec.concurrent: unknown field; did you mean "maxActiveRunners"? [GR-INPUT-04]
  {concurrent: 10, maxActiveRunners: ~}
spec.limit: unknown field; did you mean "maxActiveRunners"? [GR-INPUT-04]
  {limit: 5, maxActiveRunners: ~}
spec.executor: unknown field; did you mean "containerMode"? [GR-INPUT-04]
  executor: docker
spec.check_interval: unknown field; serve knows when Gitea is to be asked. Remove it [GR-INPUT-04]
  check_interval: 3
spec.pollingInterval: unknown field; serve knows when Gitea is to be asked. Remove it [GR-INPUT-04]
  pollingInterval: 15
spec.dockerdWithinRunnerContainer: unknown field; write containerMode: dind-rootless [GR-INPUT-04]
  dockerdWithinRunnerContainer: true
spec.ephemeral: unknown field; runners always are. Remove it [GR-INPUT-04]
  ephemeral: true
spec.failedJobsHistoryLimit: unknown field; write ttlSecondsAfterFinished [GR-INPUT-04]
  failedJobsHistoryLimit: 1
spec.minutes: unknown field; it belongs below spec.idleDemand: move it there [GR-INPUT-04]
  minutes: 5
spec.namespace: unknown field; it belongs below metadata: move it there [GR-INPUT-04]
  namespace: ci
spec.podTemplate.nodeSelector: unknown field; it belongs into spec [GR-INPUT-04]
  podTemplate: {nodeSelector: {a: b}}
spec.podTemplate.template: unknown field; podTemplate is the template itself: write the spec of the pod below podTemplate.spec [GR-INPUT-04]
  podTemplate: {template: {spec: {}}}
spec.podTemplate.spec.template: unknown field; podTemplate is the template itself: write the spec of the pod below podTemplate.spec [GR-INPUT-04]
  podTemplate: {spec: {template: {spec: {}}}}
spec.podTemplate.spec.jobTemplate: unknown field; podTemplate is the template itself: write the spec of the pod below podTemplate.spec [GR-INPUT-04]
  podTemplate: {spec: {jobTemplate: {}}}
spec.podTemplate.spec.spec: unknown field; podTemplate is the template itself: write the spec of the pod below podTemplate.spec [GR-INPUT-04]
  podTemplate: {spec: {spec: {}}}
spec.podTemplate.spec.replicas: unknown field; podTemplate is the template itself: write the spec of the pod below podTemplate.spec [GR-INPUT-04]
  podTemplate: {spec: {replicas: 2}}
spec.podTemplate.metadata.tolerations: unknown field; it belongs into spec [GR-INPUT-04]
  podTemplate: {metadata: {tolerations: []}}
spec.podTemplate.spec.volumeMounts: unknown field; it belongs into a container [GR-INPUT-04]
  podTemplate: {spec: {volumeMounts: []}}
# The meaning comes before the type, and a unit is named.
spec.runnerConfig.runner.fetch_interval: must be a duration with its unit, e.g. 30s, 5m or 1h30m, not the number 2; write "2s" [GR-INPUT-05]
  runnerConfig: {runner: {fetch_interval: 2}}
spec.runnerConfig.runner.fetch_interval: must be a duration with its unit, e.g. 30s, 5m or 1h30m; got the string "2"; write "2s" [GR-INPUT-05]
  runnerConfig: {runner: {fetch_interval: "2"}}
spec.idleDemand.minutes: must be at most 120, not the number 900; if these are seconds, write "minutes: 15" [GR-INPUT-05]
  idleDemand: {minutes: 900, most: 3}
spec.spawnTimeoutSeconds: must be at most 86400, not the number 300000; if these are milliseconds, write "spawnTimeoutSeconds: 300" [GR-INPUT-05]
  spawnTimeoutSeconds: 300000
spec.idleSchedule[0].days[0]: must be one of Mon, Tue, Wed, Thu, Fri, Sat, Sun, not the string "Mon-Fri"; write Mon, Tue, Wed, Thu, Fri [GR-INPUT-05]
  idleSchedule: [{runners: 1, from: 07:00, to: 19:00, days: [Mon-Fri]}]
spec.idleSchedule[0].timeZone: must be the IANA name of a time zone, e.g. Europe/Berlin: this one is not known; got the string "CET+1"; write "Etc/GMT-1" [GR-INPUT-05]
  idleSchedule: [{runners: 1, from: 07:00, to: 19:00, timeZone: CET+1}]
# The way of a webhook is a secret.
spec.notify[0].webhook: must be a mapping, not the string "https://hooks.slack.com/…"; write "webhook: {url: …}" [GR-INPUT-05]
  notify: [{webhook: https://hooks.slack.com/services/T01/B02/Zx9Yw8Vu7Ts6Rq5}]
spec.notify[0].on: must be one of failure, success, always, not a list; write failure, without brackets [GR-INPUT-05]
  notify: [{slack: {channel: "#ci"}, on: [failure]}]
spec.podTemplate.spec.volumes[0].emptyDir.medium: must be one of Memory, HugePages, not "memory"; did you mean Memory? [GR-INPUT-05]
  podTemplate: {spec: {volumes: [{name: data, emptyDir: {medium: memory}}]}}
spec.podTemplate.spec.enableServiceLinks: must be true or false, not a string; write "enableServiceLinks: false" [GR-INPUT-05]
  podTemplate: {spec: {enableServiceLinks: no}}
spec.podTemplate.spec.containers[0].ports[0].containerPort: must be a whole number of 32 bits, not a string; remove the quotes: containerPort: 8080 [GR-INPUT-05]
  podTemplate: {spec: {containers: [{name: runner, ports: [{containerPort: "8080"}]}]}}
spec.podTemplate.spec.hostAliases[0].hostnames: must be a list, not a string; write "hostnames: […]" [GR-INPUT-05]
  podTemplate: {spec: {hostAliases: [{ip: 10.0.0.1, hostnames: gitea.lan}]}}
# A podTemplate has the words of the spec.
spec.podTemplate.spec.imagePullSecrets[0]: must be a mapping, not a string; write "- name: …" [GR-INPUT-05]
  podTemplate: {spec: {imagePullSecrets: [registry]}}
spec.podTemplate.spec.volumes[0].emptyDir.sizeLimit: must be a quantity, e.g. 500m or 2Gi; write "10G" [GR-INPUT-05]
  podTemplate: {spec: {volumes: [{name: data, emptyDir: {sizeLimit: 10GB}}]}}
spec.podTemplate.spec.preemptionPolicy: must be a string, not true or false, which YAML makes of y, n, yes, no, on and off, too; write it in quotes [GR-INPUT-05]
  podTemplate: {spec: {preemptionPolicy: false}}
spec.podTemplate.spec.hostUsers: must be true or false, not a string; remove the quotes: hostUsers: false [GR-INPUT-05]
  podTemplate: {spec: {hostUsers: "false"}}
# Law F294: each message has the line to write, and that line is right.
spec.defaultLabels: must be a list of labels or false, not the string "false"; write "defaultLabels: false" [GR-INPUT-05]
  defaultLabels: "false"
spec.labels[0]: "ubuntu-latest=docker://node:20" is neither name:host nor name:docker://image; write "ubuntu-latest:docker://node:20" [GR-INPUT-06]
  labels: [ubuntu-latest=docker://node:20]
spec.labels[0]: "ghcr.io/a/ubuntu:act" is neither name:host nor name:docker://image; it lacks its name: write "ubuntu-latest:docker://ghcr.io/a/ubuntu:act" [GR-INPUT-06]
  labels: [ghcr.io/a/ubuntu:act]
spec.podTemplate.spec.initContainers[0].image: is missing; write "image: …" [GR-INPUT-05]
  podTemplate: {spec: {initContainers: [{name: warm, command: [warm]}]}}
spec.podTemplate.spec.initContainers[0].image: is missing; only containerMode dind has a container docker of its own [GR-INPUT-05]
  podTemplate: {spec: {initContainers: [{name: docker, resources: {limits: {cpu: 2}}}]}}
spec.podTemplate.spec.containers[0].name: is a container of initContainers: move it there [GR-INPUT-05]
  containerMode: dind
  podTemplate: {spec: {containers: [{name: docker, resources: {limits: {cpu: 2}}}]}}
spec.image: must be a string, not a mapping; write "image: gitea/runner:1.0.8" [GR-INPUT-05]
  image: {repository: gitea/runner, tag: 1.0.8}
spec.notify[0].slack.channel: must be a string, not empty: "#" begins a comment. Quote it: channel: "#…" [GR-INPUT-05]
  notify: [{slack: {channel: ~}}]
spec.gitea.url: must be an http or https URL without credentials, query or fragment, e.g. https://gitea.example.com; remove the spaces around it [GR-INPUT-05]
  gitea: {url: "https://git.corp.io "}
spec.gitea.url: must be an http or https URL without credentials, query or fragment, e.g. https://gitea.example.com; write "https://git.corp.io" [GR-INPUT-05]
  gitea: {url: "https:/git.corp.io"}
spec.gitea.url: must be an http or https URL without credentials, query or fragment, e.g. https://gitea.example.com; write "https://git.corp.io" [GR-INPUT-05]
  gitea: {url: "htps://git.corp.io"}
spec.image: must be a string, not a mapping; write "image: gitea/runner:TAG" [GR-INPUT-05]
  image: {name: gitea/runner}
spec.gitea.url: must be a URL with a host, e.g. https://gitea.example.com; write "https://git.corp.io:3000" [GR-INPUT-05]
  gitea: {url: "https://git.corp.io:3000:443"}
`);

/** What looks like a mistake, and is none. */
const RIGHT = specRows(`
a shell, Kubernetes and drivers fill them in
  setupCommand: [sh, -c, "echo \${HOME} $1 %A%"]
  runnerConfig: {runner: {envs: {A: $HOME}}}
  podTemplate: {metadata: {annotations: {note: "<who> {{ x }}"}}, spec: {containers: [{name: runner, env: [{name: A, value: $(B)}], volumeMounts: [{name: c, mountPath: /c, subPathExpr: $(A)}]}], initContainers: [{name: a, image: a:1, command: [sh, -c], args: ["echo \${A}"]}], volumes: [{name: c, csi: {driver: a.example.com, volumeAttributes: {dns: "\${POD_NAME}"}}}]}}
a claim of each repository
  registration: {by: serve, for: repository}
  registrationToken: ~
  podTemplate: {spec: {volumes: [{name: c, persistentVolumeClaim: {claimName: "c-\${REPOSITORY}"}}]}}
a label as Gitea takes it
  {labels: [<img>:host, "{{x}}", "%ARCH%"], defaultLabels: false}
a URL that is escaped
  gitea: {url: https://gitea.example.com/%E3%81%82}
a template that mends what the group says
  resources: {requests: {memory: 4Gi, nvidia.com/gpu: 1}}
  podTemplate: {spec: {containers: [{name: runner, resources: {limits: {memory: 4Gi, nvidia.com/gpu: "1"}}}]}}
root where it may be
  containerMode: dind
  podTemplate: {spec: {containers: [{name: runner, securityContext: {runAsUser: 0, runAsNonRoot: false}}]}}
a folder beside the socket of a sidecar, and the folder of the socket itself
  podTemplate: {spec: {containers: [{name: runner, volumeMounts: [{name: x, mountPath: /run/user/1000}]}], volumes: [{name: x, emptyDir: {}}]}}
`);

it.each(MISTAKES)('validate says what to write: %s', async (message, spec) => {
  expect(await told(spec)).toEqual([message]);
});

it.each<[string, Spec, Spec]>([
  [
    'metadata.name: must be lower-case letters, digits and dashes, with a letter or digit at both ends; got the string "CI_Runners"; write "name: ci-runners" [GR-INPUT-05]',
    { name: 'CI_Runners' },
    {},
  ],
  [
    'metadata.maxActiveRunners: unknown field; it belongs below spec: move it there [GR-INPUT-04]',
    { maxActiveRunners: 3 },
    { maxActiveRunners: undefined },
  ],
  [
    'note: 1 RunnerGroup without metadata.namespace: Argo CD takes the destination namespace, here it is default',
    { namespace: undefined },
    {},
  ],
  ['metadata.spec: unknown field; it belongs beside metadata: take two spaces away [GR-INPUT-04]', { spec: {} }, {}],
  [
    'metadata.annotations["argocd.argoproj.io/sync-wave"]: would make every sync of the Application wait, for this group or for its prune: remove it [GR-INPUT-05]',
    { annotations: { 'argocd.argoproj.io/sync-wave': 5 } },
    {},
  ],
])('validate says what to write: %s', async (message, metadata, spec) => {
  expect(await told(spec, metadata)).toEqual([message]);
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

it.each(RIGHT)('no error: %s', async (_, spec) => {
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
  ['apiversion: gitea.bpg.pw/v1alpha1\nkind: RunnerGroup\n', '1:1: has a field apiversion: write apiVersion'],
  [
    'apiVersion: gitea.bpg.pw/v1alpha1\nkind: List\nitems: []\n',
    '2:1: kind: must be RunnerGroup, not "List". A List has "apiVersion: v1"',
  ],
  [
    '{"kind": "RunnerGroup", // a\n "apiVersion": "gitea.bpg.pw/v1alpha1"}\n',
    '1:1: JSON has no comments: remove each "//"',
  ],
])('an object of another form: %j', async (text, message) => {
  const { stderr } = await runHere(['validate', 'x.yaml'], {}, folderWith({ 'x.yaml': text }));

  expect(stderr).toContain(`x.yaml:${message} [GR-INPUT-03]`);
});

it.each([
  ['labels:\n- a\n-gpu\nb: 1\n', 3, 1, 'a list needs a space after its dash: write "- gpu"'],
  ['a: {url: http://a:}\n', 1, 10, 'a value that ends with a colon needs quotes'],
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
