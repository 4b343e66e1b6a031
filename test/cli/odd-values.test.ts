/**
 * Law F121 (docs/spec.md): `validate` warns of values that are legal and cannot be intended, and says what to write.
 */
import { describe, expect, it } from 'vitest';
import { quietDocument, type Spec } from '../support/group-files.ts';
import { specRows } from '../support/rows.ts';
import { folderWith, runHere } from '../support/run-cli.ts';

async function told(spec: Spec, metadata: Spec = {}, more = ''): Promise<readonly string[]> {
  const folder = folderWith({ 'ci.yaml': quietDocument(spec, metadata) + more });
  const { stderr } = await runHere(['validate', 'ci.yaml'], {}, folder);
  return stderr
    .trimEnd()
    .split('\n')
    .filter((line) => line.startsWith('ci.yaml:'))
    .map((line) => line.replace(/^ci\.yaml:\d+:\d+: /, ''));
}

const pod = (spec: object): Spec => ({ podTemplate: { spec } });
const DIND = { containerMode: 'dind-rootless' };

/** What `validate` says of a field of spec, and the fields. */
const NEVER_MEANT = specRows(`
resources.requests.memory: is 512 bytes, which no program can use: write 512Mi
  resources: {requests: {memory: 512}}
resources.requests.memory: is 4000 bytes, which no program can use: write 4Mi
  resources: {requests: {memory: 4k}}
resources.requests.memory: is less than a byte, which no program can use: write 512Mi
  resources: {requests: {memory: 512m}}
resources.requests.ephemeral-storage: is 10 bytes, which no program can use: write 10Mi
  resources: {requests: {ephemeral-storage: "10"}}
resources.requests.cpu: is 2000 whole cores: write 2000m for thousandths of a core
  resources: {requests: {cpu: 2000}}
podTemplate.spec.containers[0].resources.limits.memory: is 512 bytes, which no program can use: write 512Mi
  podTemplate: {spec: {containers: [{name: runner, resources: {limits: {memory: "512"}}}]}}
resources.limits.memory: is 4000000 bytes, and no runner starts with that: write 4Gi
  resources: {requests: {memory: 2M}, limits: {memory: 4M}}
resources.limits.cpu: is 4 thousandths of a core: write 4
  resources: {requests: {cpu: 1m}, limits: {cpu: 4m}}
gitea.url: is github.com, which is no Gitea: write the address of yours, e.g. https://gitea.example.com
  gitea: {url: https://github.com}
podTemplate.spec.tolerations[0].operator: is Equal without a value, which fits no taint that has one: write "operator: Exists", or the value
  podTemplate: {spec: {tolerations: [{key: ci, operator: Equal, effect: NoSchedule}]}}
podTemplate.spec.containers[0].livenessProbe: ends the CI job when it fails, and the kubelet sees the end of a runner without it: remove it
  podTemplate: {spec: {containers: [{name: runner, livenessProbe: {exec: {command: [pgrep, act_runner]}}}]}}
podTemplate.spec.nodeSelector["kubernetes.io/arch"]: is x86_64, which no node says: write amd64
  podTemplate: {spec: {nodeSelector: {kubernetes.io/arch: x86_64}}}
podTemplate.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values[1]: is aarch64, which no node says: write arm64
  podTemplate: {spec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/arch, operator: In, values: [amd64, aarch64]}]}]}}}}}
image: has no docker daemon, which containerMode dind-rootless needs: write "image: gitea/runner:1.0.8-dind-rootless", or "containerMode: dind"
  {containerMode: dind-rootless, image: gitea/runner:1.0.8}
image: has no docker daemon, which containerMode dind-rootless needs: write "image: gitea/act_runner:nightly-dind-rootless", or "containerMode: dind"
  {containerMode: dind-rootless, image: gitea/act_runner:nightly-dind}
image: holds no Gitea runner. What CI jobs run in is said by a label, e.g. "labels: [linux:docker://debian:13]": remove the line
  {containerMode: host, defaultLabels: false, labels: [linux:host], image: docker.io/gitea/gitea:1.27.3}
image: holds no Gitea runner. What CI jobs run in is said by a label, e.g. "labels: [linux:docker://debian:13]": remove the line
  {containerMode: dind-rootless, image: docker.gitea.com/runner-images:ubuntu-latest}
repositories[2]: is of other, and the group has jobs of acme only: write "*"
  {registration: {by: serve, for: repository}, registrationToken: ~, repositories: [web, Acme/api, other/*, "*/x"]}
repo: ends with .git, as no repository does: write "repo: acme/web"
  {scope: repo, org: ~, repo: acme/web.git}
limits[0].max: is 12, more than the cap, which is 10, so it limits nothing: write less, or remove it
  {registration: {by: serve, for: repository}, registrationToken: ~, limits: [{per: repository, max: 12}]}
podTemplate.spec.containers[0].env[0].value: stands in git and in each Job. If it is real, revoke it, and name a Secret: write "valueFrom: {secretKeyRef: {name: NAME, key: KEY}}"
  podTemplate: {spec: {containers: [{name: runner, env: [{name: NPM_TOKEN, value: zzz-zzz-zzz}, {name: TOKEN_FILE, value: /run/token}, {name: DB_PASSWORD, value: $(OTHER)}]}]}}
labels[0]: holds quotes, dashes or spaces of a word processor: write "linux:host"
  labels: [“linux”:host]
labels[0]: holds quotes, dashes or spaces of a word processor: write "ubuntu-x:host"
  labels: [ubuntu–x:host]
setupCommand[2]: holds quotes, dashes or spaces of a word processor: write "echo \\"a\\" -b"
  setupCommand: [sh, -c, echo “a” –b]
gitea.url: is this machine, and for a runner its own pod: write the address at which pods reach it, e.g. http://gitea-http.gitea.svc:3000
  gitea: {url: https://localhost:3000}
proxy.http: is this machine, and for a runner its own pod: write the address at which pods reach it, e.g. http://proxy.example.com:3128
  proxy: {http: http://127.0.0.1:3128, https: http://p.corp.io:3128}
gitea.url: is the address of a page, Acme: write the address of Gitea, https://git.example.com/sub
  gitea: {url: https://git.example.com/sub/Acme}
gitea.url: is https at port 80, which speaks http: write https://git.example.com, or the right port
  gitea: {url: https://git.example.com:80}
image: names gitea/act-runner, which the runner project has not: write gitea/runner, or gitea/act_runner before 1.0
  image: gitea/act-runner:0.2.13-dind-rootless
setupCommand: runs in an init container, where no docker daemon answers: do this in the workflow. For images, see the Helm value prePull
  setupCommand: [docker, pull, node:22]
podTemplate.spec.nodeSelector["node-role.kubernetes.io/master"]: is a label that no node has since Kubernetes 1.24: write the label of nodes for CI, or node-role.kubernetes.io/control-plane
  podTemplate: {spec: {nodeSelector: {node-role.kubernetes.io/master: ""}}}
activeDeadlineSeconds: is 60 s for all of a runner's life: write e.g. 21600, if these are minutes
  activeDeadlineSeconds: 60
podTemplate.spec.nodeSelector["kubernetes.io/os"]: is windows, and runners are Linux programs: write linux, or remove it
  podTemplate: {spec: {nodeSelector: {kubernetes.io/os: windows}}}
podTemplate.spec.tolerations[1]: tolerates every taint, also of nodes that are ill: write the key of the taint that you mean
  podTemplate: {spec: {tolerations: [{key: ci, operator: Exists}, {operator: Exists}]}}
setupCommand: is one program with its arguments, and no shell reads it: write setupCommand: ["sh", "-c", "make cache && ls -l"]
  setupCommand: [make cache && ls -l]
setupCommand: is one program with its arguments, and no shell reads it: write setupCommand: ["sh", "-c", "a && b"]
  setupCommand: [a, "&&", b]
labels[0]: ubuntu-24.04-arm asks for other machines, and nothing picks them: write "podTemplate: {spec: {nodeSelector: {kubernetes.io/arch: arm64}}}"
  labels: [ubuntu-24.04-arm:host]
labels[0]: ubuntu-22.04-armv7 asks for other machines, and nothing picks them: write "podTemplate: {spec: {nodeSelector: {kubernetes.io/arch: arm}}}"
  labels: [ubuntu-22.04-armv7:host]
labels[0]: gpu asks for other machines, and nothing picks them: write "resources: {limits: {nvidia.com/gpu: 1}}"
  labels: [gpu:host]
podTemplate.spec.containers[0].env[0]: DOCKER_TLS_VERIFY leads docker away from the daemon of containerMode dind-rootless, which has a socket without TLS: remove it
  containerMode: dind-rootless
  podTemplate: {spec: {containers: [{name: runner, env: [{name: DOCKER_TLS_VERIFY, value: "1"}]}]}}
runnerConfig.runner.envs.DOCKER_HOST: DOCKER_HOST leads docker away from the daemon of containerMode dind-rootless, which has a socket without TLS: remove it
  {containerMode: dind-rootless, runnerConfig: {runner: {envs: {DOCKER_HOST: tcp://docker:2376}}}}
podTemplate.spec.containers[0].env[0]: DOCKER_CERT_PATH means nothing without DOCKER_HOST: write that, too, or remove it
  containerMode: host
  defaultLabels: false
  labels: [linux:host]
  podTemplate: {spec: {containers: [{name: runner, env: [{name: DOCKER_CERT_PATH, value: /certs}]}]}}
podTemplate.spec.containers[0].env[0]: port 2376 speaks TLS: write DOCKER_TLS_VERIFY: "1" and DOCKER_CERT_PATH, too
  containerMode: host
  defaultLabels: false
  labels: [linux:host]
  podTemplate: {spec: {containers: [{name: runner, env: [{name: DOCKER_HOST, value: tcp://docker:2376}]}]}}
gracefulStopSeconds: is 3 s for a CI job to finish after a stop: write e.g. 10800, or 0 if it need not
  gracefulStopSeconds: 3
keepFailedSeconds: is 2 s for people to come and enter the pod: write e.g. 3600, or 0 if nobody does
  keepFailedSeconds: 2
podTemplate.spec.volumes[0].secret.defaultMode: is 0620 in octal: write 0400
  podTemplate: {spec: {containers: [{name: runner, volumeMounts: [{name: a, mountPath: /a}]}], volumes: [{name: a, secret: {secretName: a, defaultMode: 400}}]}}
podTemplate.spec.initContainers[0].env[0]: DOCKER_TLS_CERTDIR leads docker away from the daemon of containerMode dind, which has a socket without TLS: remove it
  containerMode: dind
  podTemplate: {spec: {initContainers: [{name: docker, env: [{name: DOCKER_TLS_CERTDIR, value: /c}]}]}}
podTemplate.spec.topologySpreadConstraints[0].labelSelector.matchLabels["app.kubernetes.io/name"]: is gitea-runners, which no pod of the group has, so nothing is spread: write "app.kubernetes.io/name: gitea-runner"
  podTemplate: {spec: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app.kubernetes.io/name: gitea-runners}}}]}}
podTemplate.spec.topologySpreadConstraints[0].labelSelector.matchLabels.app: is ci, which no pod of the group has, so nothing is spread: write "gitea.bpg.pw/runnergroup-name: ci"
  podTemplate: {spec: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app.kubernetes.io/name: gitea-runner, app: ci}}}]}}
podTemplate.spec.securityContext.runAsUser: is 0, and so the daemon of containerMode dind-rootless does not start: remove it, or write "containerMode: dind"
  {containerMode: dind-rootless, podTemplate: {spec: {securityContext: {runAsUser: 0}}}}
podTemplate.spec.containers[0].securityContext.privileged: is false, and so the daemon of containerMode dind-rootless does not start: remove it, or write "containerMode: dind"
  containerMode: dind-rootless
  podTemplate: {spec: {containers: [{name: runner, securityContext: {privileged: false}}]}}
limits[0].branches[0]: is no branch of Gitea, but git's name for one: write release/*
  registration: {by: serve, for: repository}
  registrationToken: ~
  limits: [{branches: [refs/heads/release/*], max: 1}]
limits[0].branches[0]: is no branch of Gitea, but git's name for one: write main
  {registration: {by: serve, for: repository}, registrationToken: ~, limits: [{branches: [origin/main], max: 1}]}
order[2]: never counts beside "*", which fits all: remove one of them
  {registration: {by: serve, for: repository}, registrationToken: ~, order: [web, "*", api]}
repositories[0]: never counts beside "*", which fits all: remove one of them
  {registration: {by: serve, for: repository}, registrationToken: ~, repositories: [web, "*"]}
idleSchedule[1]: never counts: idleSchedule[0] has as many runners at these hours. Raise runners, or remove it
  idleSchedule: [{runners: 3, from: 06:00, to: 20:00}, {runners: 2, from: 08:00, to: 10:00}]
podTemplate.spec.topologySpreadConstraints[0].topologyKey: is no label that Kubernetes gives nodes: write kubernetes.io/hostname
  podTemplate: {spec: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: hostname, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {}}}]}}
podTemplate.spec.containers[0].volumeMounts[0].mountPath: is read by no shell: write /data/.m2
  podTemplate: {spec: {containers: [{name: runner, volumeMounts: [{name: x, mountPath: ~/.m2}]}], volumes: [{name: x, emptyDir: {}}]}}
podTemplate.spec.containers[0].volumeMounts[0].subPath: is read by no shell: write x
  podTemplate: {spec: {containers: [{name: runner, volumeMounts: [{name: x, mountPath: /x, subPath: ~/x}]}], volumes: [{name: x, emptyDir: {}}]}}
labels[0]: names the image https://docker.io/library/node:20, which no registry has: write docker.io/library/node:20
  {containerMode: dind-rootless, labels: [a:docker://https://docker.io/library/node:20]}
labels[0]: names the image docker.io/Library/Node:20-LTS, which no registry has: write docker.io/library/node:20-LTS
  {containerMode: dind-rootless, labels: [a:docker://docker.io/Library/Node:20-LTS]}
labels[0]: names the image node:20:slim with two tags: keep one
  {containerMode: dind-rootless, labels: [a:docker://node:20:slim]}
labels[0]: names the image node@latest, which no registry has: write node:latest
  {containerMode: dind-rootless, labels: [a:docker://node@latest]}
runnerConfig.container.options: mounts /var/run/docker.sock of the runner's own pod, which has nothing there, and not of the node: remove it
  {containerMode: dind-rootless, runnerConfig: {container: {options: -v /var/run/docker.sock:/var/run/docker.sock}}}
proxy.http: has no namespace, so each pod looks for squid in its own: write http://squid.NAMESPACE.svc:3128
  proxy: {http: http://squid:3128, https: http://p.corp.io:3128}
# Law F240: one rule, and each place where such a value can stand.
podTemplate.spec.containers[0].image: holds no Gitea runner. What CI jobs run in is said by a label, e.g. "labels: [linux:docker://debian:13]": remove the line
  containerMode: dind-rootless
  podTemplate: {spec: {containers: [{name: runner, image: ghcr.io/actions/actions-runner:2.330.0}]}}
sizes[0].podTemplate.spec.containers[0].image: holds no Gitea runner. What CI jobs run in is said by a label, e.g. "labels: [linux:docker://debian:13]": remove the line
  containerMode: host
  defaultLabels: false
  labels: [linux:host]
  sizes: [{name: large, podTemplate: {spec: {containers: [{name: runner, image: gitlab/gitlab-runner:v18}]}}}]
image: is older than act_runner 0.2.12, which brought ephemeral runners: it never registers. Remove the line
  {containerMode: dind-rootless, image: gitea/act_runner:0.2.11-dind-rootless}
podTemplate.spec.containers[0].image: is older than act_runner 0.2.12, which brought ephemeral runners: it never registers. Remove the line
  containerMode: host
  defaultLabels: false
  labels: [linux:host]
  podTemplate: {spec: {containers: [{name: runner, image: registry.corp.io/gitea/act_runner:v0.1.8}]}}
defaultLabels[0]: names the image node:20:slim with two tags: keep one
  {containerMode: dind-rootless, defaultLabels: [a:docker://node:20:slim]}
podTemplate.spec.volumes[0].emptyDir.sizeLimit: is less than a byte, which no program can use: write 512Mi
  podTemplate: {spec: {volumes: [{name: data, emptyDir: {medium: Memory, sizeLimit: 512m}}]}}
podTemplate.spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources.requests.storage: is 50 bytes, which no program can use: write 50Mi
  podTemplate: {spec: {volumes: [{name: data, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 50}}}}}}]}}
podTemplate.spec.topologySpreadConstraints[0]: selects no pod, so it has no effect: write "labelSelector: {matchLabels: {gitea.bpg.pw/runnergroup-name: ci}}"
  podTemplate: {spec: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: ScheduleAnyway}]}}
podTemplate.spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]: selects no pod, so it has no effect: write "labelSelector: {matchLabels: {gitea.bpg.pw/runnergroup-name: ci}}"
  podTemplate: {spec: {affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname}]}}}}
podTemplate.spec.topologySpreadConstraints[0].labelSelector.matchExpressions[0].values: is x or y, which no pod of the group has, so nothing is spread: write "gitea.bpg.pw/runnergroup-name: ci"
  podTemplate: {spec: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchExpressions: [{key: app, operator: In, values: [x, y]}]}}]}}
podTemplate.spec.securityContext.runAsUser: is 1001, and so the daemon of containerMode dind-rootless does not start: remove it, or write "containerMode: dind"
  {containerMode: dind-rootless, podTemplate: {spec: {securityContext: {runAsUser: 1001}}}}
sizes[0].podTemplate.spec.containers[0].securityContext.runAsUser: is 65534, and so the daemon of containerMode dind-rootless does not start: remove it, or write "containerMode: dind"
  containerMode: dind-rootless
  sizes: [{name: large, podTemplate: {spec: {containers: [{name: runner, securityContext: {runAsUser: 65534}}]}}}]
podTemplate.spec.securityContext.runAsNonRoot: is true, and the image names its user and no number, so the kubelet refuses it: write "runAsUser: 1000", too
  {containerMode: dind-rootless, podTemplate: {spec: {securityContext: {runAsNonRoot: true}}}}
podTemplate.spec.containers[0].securityContext.readOnlyRootFilesystem: is true, and so the daemon of containerMode dind-rootless does not start: remove it, or write "containerMode: dind"
  containerMode: dind-rootless
  podTemplate: {spec: {containers: [{name: runner, securityContext: {readOnlyRootFilesystem: true}}]}}
gitea.url: is the address of a page, org/acme/settings/actions/runners: write the address of Gitea, https://git.corp.io
  gitea: {url: https://git.corp.io/org/acme/settings/actions/runners}
gitea.url: is the address of a page, acme/web/actions: write the address of Gitea, https://git.corp.io/git
  gitea: {url: https://git.corp.io/git/acme/web/actions}
gitea.url: is the address of a page, -/admin/actions/runners: write the address of Gitea, https://git.corp.io
  {scope: global, org: ~, gitea: {url: https://git.corp.io/-/admin/actions/runners}}
sizes[0].podTemplate.spec.nodeSelector["kubernetes.io/os"]: is windows, and runners are Linux programs: write linux, or remove it
  sizes: [{name: large, podTemplate: {spec: {nodeSelector: {kubernetes.io/os: windows}}}}]
# Law F241: container \`setup\`, \`register\` and CI jobs do not have what only the runner has.
setupCommand: changes only its own container, where it is not root: the runner finds what is in /data, and CI jobs with docker do not. Put programs into the image that a label or spec.image names
  setupCommand: [sh, -c, apk add --no-cache jq yq]
setupCommand: changes only its own container, where it is not root: the runner finds what is in /data, and CI jobs with docker do not. Put programs into the image that a label or spec.image names
  setupCommand: [npm, install, -g, pnpm]
setupCommand: changes only its own container, where it is not root: the runner finds what is in /data, and CI jobs with docker do not. Put programs into the image that a label or spec.image names
  setupCommand: [sh, -c, curl -fsSL https://x/kubectl -o /usr/local/bin/kubectl]
podTemplate.spec.containers[0].env[0]: reaches only container runner, and neither the registration nor CI jobs: write "proxy: {http: …, https: …, noProxy: […]}" below spec in its place
  containerMode: dind-rootless
  podTemplate: {spec: {containers: [{name: runner, env: [{name: HTTP_PROXY, value: http://proxy.corp.io:3128}, {name: NO_PROXY, value: .corp.io}]}]}}
podTemplate.spec.containers[0].env[0]: reaches only container runner, and neither the registration nor CI jobs: write "caBundle: {configMapRef: {name: …, key: …}}" below spec in its place
  containerMode: dind-rootless
  podTemplate: {spec: {containers: [{name: runner, env: [{name: NODE_EXTRA_CA_CERTS, value: /ca/ca.crt}]}]}}
podTemplate.spec.containers[0].volumeMounts[0]: reaches only container runner, and neither the registration nor CI jobs: write "caBundle: {configMapRef: {name: …, key: …}}" below spec in its place
  containerMode: dind-rootless
  podTemplate: {spec: {containers: [{name: runner, volumeMounts: [{name: data, mountPath: /etc/ssl/certs/corp.crt, subPath: ca}]}]}}
# Law F293: what starts, and does not work.
runnerConfig.container.options: mounts /mnt/c and go, which valid_volumes does not list, so the runner leaves it out: write "valid_volumes: [/src, /mnt/c, go]"
  runnerConfig: {container: {options: "-v /mnt/c:/c --volume=/src:/src:ro --mount type=volume,src=go,dst=/go", valid_volumes: [/src]}}
  podTemplate: {spec: {containers: [{name: runner, volumeMounts: [{name: c, mountPath: /mnt}, {name: c, mountPath: /src/x, subPath: x}]}], volumes: [{name: c, emptyDir: {}}]}}
runnerConfig.container.options: mounts /mnt/d of the runner's own pod, which has nothing there, and not of the node: remove it
  runnerConfig: {container: {options: "-v cache:/c --mount type=bind,source=/mnt/d,target=/d"}}
runnerConfig.container.options: has 4Gi, and docker reads no unit of Kubernetes: write 4g
  runnerConfig: {container: {options: "--cpus=2 --memory=4Gi"}}
runnerConfig.container.options: has 500m, and docker reads no unit of Kubernetes: write 0.5
  runnerConfig: {container: {options: "-m 512m --cpus=500m"}}
image: starts a docker daemon of its own, which has no rights here, so the runner does not start: write "image: docker.io/gitea/runner:1.0.8"
  {containerMode: dind, image: docker.io/gitea/runner:1.0.8-dind}
image: starts a docker daemon of its own, which has no rights here, so the runner does not start: write "image: r.corp.io/gitea/runner:2.1.0", or "containerMode: dind-rootless"
  {containerMode: host, defaultLabels: false, labels: [linux:host], image: r.corp.io/gitea/runner:2.1.0-dind-rootless}
image: has a tag that the runner project has not: write "image: gitea/runner:1.0.8-dind-rootless"
  {containerMode: dind-rootless, image: gitea/runner:1.0.8-dind-rootles}
image: has a tag that the runner project has not: write "image: gitea/runner:1.0.8"
  {containerMode: dind, image: gitea/runner:v1.0.8}
image: names the image gitea/runner/1.0.8, which no registry has: write gitea/runner:1.0.8
  {containerMode: dind, image: gitea/runner/1.0.8}
image: names the image docker://gitea/runner:1.0.8-dind-rootless, which no registry has: write gitea/runner:1.0.8-dind-rootless
  {containerMode: dind-rootless, image: docker://gitea/runner:1.0.8-dind-rootless}
setupCommand: is one program with its arguments, and no shell reads it: write setupCommand: ["sh", "-c", "git clone https://x/y /data/y"]
  setupCommand: [sh, -c, git, clone, https://x/y, /data/y]
setupCommand: is one program with its arguments, and no shell reads it: write setupCommand: ["sh", "-c", "mkdir -p /data/x && git clone https://x/y /data/x"]
  setupCommand: [mkdir -p /data/x, git clone https://x/y /data/x]
setupCommand: is one program with its arguments, and no shell reads it: write setupCommand: ["sh", "-c", "git clone https://x/y /data/y"]
  setupCommand: [git clone, https://x/y, /data/y]
setupCommand: is one program with its arguments, and no shell reads it: write setupCommand: ["sh", "-c", "echo hi > /data/x"]
  setupCommand: [bash, -e, echo hi > /data/x]
setupCommand: is one program with its arguments, and no shell reads it: write setupCommand: ["sh", "-c", "cd /data"]
  setupCommand: [cd, /data]
setupCommand: is one program with its arguments, and no shell reads it: write setupCommand: ["sh", "-c", "FOO=a b make"]
  setupCommand: [FOO=a b, make]
setupCommand: is one program with its arguments, and no shell reads it: write setupCommand: ["sh", "-c", "mkdir /data/x; date >/data/y"]
  setupCommand: [mkdir, /data/x;, date, ">/data/y"]
setupCommand: is one program with its arguments, and no shell reads it: write setupCommand: ["sh", "-c", "cp $HOME/x /data"]
  setupCommand: [cp, $HOME/x, /data]
podTemplate.spec.initContainers[0].command: is one program with its arguments, and no shell reads it: write command: ["sh", "-c", "chown -R 1000 /c"]
  podTemplate: {spec: {initContainers: [{name: x, image: busybox:1, command: [chown -R 1000 /c]}]}}
podTemplate.spec.initContainers[0].command: is one program with its arguments, and no shell reads it: write command: ["sh", "-c", "mkdir -p /c"], without args
  podTemplate: {spec: {initContainers: [{name: x, image: busybox:1, command: [sh, -c], args: [mkdir, -p, /c]}]}}
podTemplate.spec.initContainers[0].command: is one program with its arguments, and no shell reads it: write command: ["sh", "-c", "redis-server --port 1"]
  podTemplate: {spec: {initContainers: [{name: x, image: busybox:1, restartPolicy: Always, command: [redis-server --port 1]}]}}
labels[0]: ubuntu-24.04-arm asks for arm64, and podTemplate for amd64: change one of them
  {labels: [ubuntu-24.04-arm:docker://debian:13], podTemplate: {spec: {nodeSelector: {kubernetes.io/arch: amd64}}}}
labels[0]: linux-x64 asks for amd64, and podTemplate for arm64: change one of them
  {labels: [linux-x64:host], podTemplate: {spec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/arch, operator: In, values: [arm64]}]}]}}}}}}
podTemplate.spec.nodeSelector["kubernetes.io/arch"]: is amd64, and affinity asks for arm64: remove one
  podTemplate: {spec: {nodeSelector: {kubernetes.io/arch: amd64}, affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/arch, operator: In, values: [arm64]}]}]}}}}}
podTemplate.spec.nodeSelector: holds a toleration: write "tolerations: [{key: ci, operator: Exists, effect: NoSchedule}]" in its place
  podTemplate: {spec: {nodeSelector: {key: ci, operator: Exists, effect: NoSchedule}}}
resources.limits.ephemeral-storage: is 500Mi, and images and layers of docker count: at that the pod is evicted. Write e.g. 20Gi
  {containerMode: dind, resources: {requests: {cpu: 1}, limits: {ephemeral-storage: 500Mi}}}
resources.limits["nvidia.com/gpus"]: is a resource that no node has: write "nvidia.com/gpu: 1"
  resources: {requests: {cpu: 1}, limits: {nvidia.com/gpus: 1}}
activeDeadlineSeconds: is 360 s for all of a runner's life: write e.g. 21600, if these are minutes
  {activeDeadlineSeconds: 360, gracefulStopSeconds: 60}
podTemplate.metadata.labels["kueue.x-k8s.io/queue-name"]: belongs to Jobs, which have it from spec: write "queue: ci" there
  podTemplate: {metadata: {labels: {kueue.x-k8s.io/queue-name: ci}}}
podTemplate.metadata.labels["cluster-autoscaler.kubernetes.io/safe-to-evict"]: is an annotation, and does nothing as a label: move it to annotations
  podTemplate: {metadata: {labels: {cluster-autoscaler.kubernetes.io/safe-to-evict: "false"}}}
podTemplate.spec.containers[0].volumeMounts[0].mountPath: is the name of a file, and the whole volume becomes a folder there: write "subPath: config.json", too
  podTemplate: {spec: {containers: [{name: runner, volumeMounts: [{name: d, mountPath: /root/.docker/config.json}]}], volumes: [{name: d, secret: {secretName: r}}]}}
podTemplate.spec.containers[0].volumeMounts[0].mountPath: is the name of a file, and the whole volume becomes a folder there: write "subPath: config", too
  podTemplate: {spec: {containers: [{name: runner, volumeMounts: [{name: d, mountPath: /root/.kube/config}]}], volumes: [{name: d, secret: {secretName: r}}]}}
podTemplate.spec.containers[0].resources.limits["amd.com/GPU"]: is a resource that no node has: write "amd.com/gpu: 1"
  podTemplate: {spec: {containers: [{name: runner, resources: {limits: {amd.com/GPU: 1}}}]}}
proxy: has no https, so the way to Gitea goes past it: write "https: http://p.corp.io:3128", too
  {gitea: {url: https://git.corp.io}, proxy: {http: http://p.corp.io:3128}}
gitea.url: is https at port 22, which speaks ssh: write https://git.corp.io, or the right port
  gitea: {url: https://git.corp.io:22}
`);

/** What looks like one of these, and is meant. */
const MEANT = specRows(`
amounts of every day
  resources: {requests: {cpu: "64", memory: 1Mi, ephemeral-storage: 2Gi}}
words of people in annotations
  podTemplate: {metadata: {annotations: {note: it’s “ours” – yes}}}
a label of another machine and its nodes
  {labels: [arm64:host], podTemplate: {spec: {nodeSelector: {kubernetes.io/arch: arm64}}}}
a label of a device and the device
  {labels: [gpu:host], resources: {limits: {nvidia.com/gpu: 1}}}
a shell of its own
  setupCommand: [sh, -c, a && b]
a Gitea in a folder with the name of its owner
  {org: gitea, gitea: {url: https://acme.io/gitea}}
a label of a device that is none
  labels: [gpu-stub:docker://debian:13, no-gpu:host]
plain http within the cluster
  gitea: {url: http://gitea-http.gitea.svc.cluster.local:3000}
docker in a setup that knows a daemon
  containerMode: host
  defaultLabels: false
  labels: [linux:host]
  podTemplate: {spec: {containers: [{name: runner, env: [{name: DOCKER_HOST, value: tcp://d:2375}]}]}}
  setupCommand: [docker, ps]
a daemon of its own
  containerMode: host
  defaultLabels: false
  labels: [linux:host]
  podTemplate: {spec: {containers: [{name: runner, env: [{name: DOCKER_HOST, value: tcp://d:2376}, {name: DOCKER_TLS_VERIFY, value: "1"}, {name: DOCKER_CERT_PATH, value: /c}]}]}}
modes that are written right
  podTemplate: {spec: {containers: [{name: runner, volumeMounts: [{name: a, mountPath: /mnt/a}]}], volumes: [{name: data, emptyDir: {}}, {name: a, secret: {secretName: a, defaultMode: 256}}]}}
no time for a stop, and none for a look
  {gracefulStopSeconds: 0, keepFailedSeconds: 0}
its own pods are spread
  podTemplate: {metadata: {labels: {team: a}}, spec: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {gitea.bpg.pw/runnergroup-name: ci, team: a}}}]}}
a runtime that needs no rights
  containerMode: dind-rootless
  podTemplate: {spec: {runtimeClassName: sysbox-runc, containers: [{name: runner, securityContext: {privileged: false}}]}}
images and branches as they may be
  containerMode: dind-rootless
  registration: {by: serve, for: repository}
  registrationToken: ~
  labels: [a:docker://Registry.Example.com:5000/ci/node:20-LTS, b:docker://localhost/x:1, c:docker:node:V1]
  limits: [{branches: [refs, original/main, "**"], max: 1}]
  order: [web, "*"]
  repositories: ["*"]
hours beside and around each other
  idleSchedule: [{runners: 2, from: 06:00, to: 20:00}, {runners: 3, from: 08:00, to: 10:00}, {runners: 1, from: 07:00, to: 09:00, days: [Sat]}, {runners: 1, from: 22:00, to: 02:00}]
a folder that the pod mounts
  containerMode: dind-rootless
  runnerConfig: {container: {options: "-v /cache/go:/cache --mount type=volume,src=go,dst=/go -v /anonymous --memory=512m --shm-size 1GiB", valid_volumes: [/cache/*, g?]}}
  podTemplate: {spec: {containers: [{name: runner, volumeMounts: [{name: c, mountPath: /cache}]}], volumes: [{name: c, emptyDir: {}}]}}
a label of nodes of its own
  podTemplate: {spec: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: rack, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {}}}]}}
a suspension
  maxActiveRunners: 1
a sidecar
  podTemplate: {spec: {initContainers: [{name: x, image: redis:8, restartPolicy: Always}]}}
a step before the runner
  podTemplate: {spec: {initContainers: [{name: x, image: busybox:1, command: ["true"]}]}}
# Law F242.
a small step before the runner
  podTemplate: {spec: {initContainers: [{name: x, image: busybox:1, command: [chown, -R, "1000", /cache], resources: {limits: {cpu: 5m, memory: 16Mi}}}]}}
a small sidecar
  podTemplate: {spec: {initContainers: [{name: x, image: busybox:1, restartPolicy: Always, resources: {limits: {memory: 24Mi}}}]}}
a small container beside the runner, of a size
  sizes: [{name: large, podTemplate: {spec: {initContainers: [{name: x, image: a:1, restartPolicy: Always, resources: {limits: {cpu: 2m}}}]}}}]
a loop that is left
  
    podTemplate:
      {
        spec:
          {
            initContainers:
              [
                {
                    name: x,
                    image: busybox:1,
                    command: [sh, -c],
                    args:
                      [
                        "while true; do
  
                          \\  if curl -fsS https://proxy.corp.io/ready; then break; fi
  
                          \\  sleep 2
  
                          done"
                      ]
                  }
              ]
          }
      }
  
a loop with an exit
  podTemplate: {spec: {initContainers: [{name: x, image: busybox:1, command: [sh, -c], args: [while :; do nc -z db 5432 && exit 0; sleep 1; done]}]}}
a wait that is timed out
  podTemplate: {spec: {initContainers: [{name: x, image: busybox:1, command: [sh, -c], args: [timeout 60 tail -f /dev/null & curl -fsS https://mirror/; kill $!]}]}}
a wait in the background
  
    podTemplate:
      {
        spec:
          {
            initContainers:
              [
                {
                    name: x,
                    image: busybox:1,
                    command: [sh, -c],
                    args:
                      [
                        tail -f /var/log/x &
  
                          warm-up
                      ]
                  }
              ]
          }
      }
  
a wait until a line comes
  podTemplate: {spec: {initContainers: [{name: x, image: busybox:1, command: [sh, -c], args: [tail -f /log | grep -q ready]}]}}
words about a wait
  podTemplate: {spec: {initContainers: [{name: x, image: busybox:1, command: [sh, -c], args: [echo "write sleep infinity"]}]}}
a wait if something is missing
  podTemplate: {spec: {initContainers: [{name: x, image: busybox:1, command: [sh, -c], args: [test -f /ok || sleep infinity]}]}}
a password of tests
  containerMode: host
  defaultLabels: false
  labels: [linux:host]
  podTemplate: {spec: {containers: [{name: runner, env: [{name: DATABASE_PASSWORD, value: postgres}, {name: ROOT_PASSWORD, value: test1234}, {name: API_KEY, value: changeme-please}]}]}}
a cross build
  containerMode: dind-rootless
  labels: [windows-cross:docker://a.io/mingw:14, macos:docker://a.io/osxcross:14, qemu-arm64:docker://a.io/b:1]
  defaultLabels: false
machines that a runtime or a toleration names
  {labels: [x-arm64:host], podTemplate: {spec: {runtimeClassName: arm-nodes}}}
a proxy and a CA of the only container that runs CI jobs
  containerMode: host
  defaultLabels: false
  labels: [linux:host]
  podTemplate: {spec: {containers: [{name: runner, env: [{name: HTTPS_PROXY, value: http://p.corp.io:1}, {name: NODE_EXTRA_CA_CERTS, value: /ca}]}]}}
a small volume, a selector of all, a folder below Gitea
  podTemplate: {spec: {volumes: [{name: data, emptyDir: {sizeLimit: 64Ki}}], topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: ScheduleAnyway, labelSelector: {}}]}}
  gitea: {url: https://corp.io/tools/git}
a command that fills /data
  setupCommand: [sh, -c, curl -fsSL https://x/y -o /data/y && npm install --prefix /data z]
a rootless daemon with its own user
  {containerMode: dind-rootless, podTemplate: {spec: {securityContext: {runAsUser: 1000, runAsNonRoot: true}}}}
a new runner
  {containerMode: dind-rootless, image: gitea/act_runner:0.2.13-dind-rootless}
# Law F293.
an image of one's own
  {containerMode: dind-rootless, image: registry.corp.io/gitea/runner:1.0.8-dind-rootless-corp3}
a daemon with rights of its own
  {containerMode: dind, image: gitea/runner:1.0.8-dind, podTemplate: {spec: {runtimeClassName: sysbox-runc}}}
labels for what is built
  containerMode: dind-rootless
  labels: [android-arm64:docker://a.io/ndk:27, windows-installer:docker://a.io/nsis:3, amd64:docker://debian:13]
  defaultLabels: false
nodes of two architectures
  labels: [x-arm64:host]
  podTemplate: {spec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/arch, operator: In, values: [amd64, arm64]}]}]}}}}}
taints of one effect
  podTemplate: {spec: {tolerations: [{operator: Exists, effect: NoSchedule}]}}
programs with their arguments, and scripts with theirs
  setupCommand: [find, /data, -name, x y, -exec, rm, "{}", ;]
  podTemplate: {spec: {initContainers: [{name: a, image: busybox:1, command: [sh, -c, 'git clone "$1"', sh, https://x/y]}, {name: b, image: busybox:1, command: [bash, -e, -o, pipefail, /x.sh, a b]}, {name: c, image: busybox:1, command: [sh, -c], args: [a && b]}]}}
a disk of its own for docker, and files with subPath
  containerMode: dind
  resources: {requests: {cpu: 1}, limits: {ephemeral-storage: 1Gi, amd.com/gpu: 1, nvidia.com/gpu.shared: 1}}
  podTemplate: {spec: {containers: [{name: runner, volumeMounts: [{name: d, mountPath: /root/.npmrc, subPath: a}, {name: d, mountPath: /mnt/conf.d}]}], volumes: [{name: d, secret: {secretName: r}}, {name: docker-data, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 50Gi}}}}}}]}}
a proxy past which Gitea is reached
  {gitea: {url: https://git.corp.io}, proxy: {http: http://p.corp.io:3128, noProxy: [.corp.io]}}
a quarter of an hour
  {activeDeadlineSeconds: 900, gracefulStopSeconds: 60}
`);

describe('a value that cannot be meant has a warning', () => {
  it.each(NEVER_MEANT)('validate warns of spec.%s', async (message, spec) => {
    expect(await told(spec)).toEqual([`warning: spec.${message} [GR-WARN-14]`]);
  });

  it('a Gitea without a namespace', async () => {
    expect(await told({ gitea: { url: 'http://gitea-http:3000' } })).toContain(
      'warning: spec.gitea.url: has no namespace, so each pod looks for gitea-http in its own: write http://gitea-http.NAMESPACE.svc:3000 [GR-WARN-14]',
    );
  });

  it.each(['false', '', 'off'])('an annotation of which any value counts: %s', async (value) => {
    expect(await told({}, { annotations: { 'gitea.bpg.pw/suspended': value } })).toEqual([
      `warning: metadata.annotations["gitea.bpg.pw/suspended"]: is "${value}", and suspends the group, as any value does: remove the line [GR-WARN-14]`,
    ]);
  });

  it.each(['', '2026-11-30T12:00:00Z'])('a look that git asks for once and never again: "%s"', async (value) => {
    expect(await told({}, { annotations: { 'gitea.bpg.pw/look-now': value } })).toEqual([
      'warning: metadata.annotations["gitea.bpg.pw/look-now"]: asks for one look only, because each sync writes the same value: remove the line, and use the action "Look now" in Argo CD [GR-WARN-14]',
    ]);
  });

  it.each(['false', 'true'])(
    'an annotation that Argo CD reads at Applications only: skip-reconcile "%s"',
    async (value) => {
      expect(await told({}, { annotations: { 'argocd.argoproj.io/skip-reconcile': value } })).toEqual([
        'warning: metadata.annotations["argocd.argoproj.io/skip-reconcile"]: has no effect here, because Argo CD reads it at Applications only: remove the line. "suspend: true" stops new runners [GR-WARN-14]',
      ]);
    },
  );

  it('an annotation as a label', async () => {
    expect(await told({}, { labels: { 'gitea.bpg.pw/suspended': 'true' } })).toEqual([
      'warning: metadata.labels["gitea.bpg.pw/suspended"]: is an annotation, and does nothing as a label: write "suspend: true" below spec [GR-WARN-14]',
    ]);
  });

  it.each(['argocd', 'kube-system'])('a namespace that rules the cluster: %s', async (namespace) => {
    expect(await told({}, { namespace })).toEqual([
      `warning: metadata.namespace: is ${namespace}: CI jobs would run beside what rules the cluster. Give runners a namespace of their own, e.g. "namespace: runners" [GR-WARN-14]`,
    ]);
  });

  it('a Secret beside the groups', async () => {
    const secret = '\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {token: abc}\n';

    const [found] = await told({}, {}, secret);

    expect(found).toMatch(/^warning: kind: a Secret in Git is readable .* revoke it \[GR-WARN-14\]$/);
    expect(found).not.toContain('abc');
  });

  it.each<[string, object, string]>([
    [
      'a second runner',
      { image: 'gitea/act_runner:1', restartPolicy: 'Always' },
      'looks like a second Gitea runner, beside container `runner`: remove it',
    ],
    [
      'a second daemon',
      { image: 'docker:28-dind', restartPolicy: 'Always' },
      'is a second docker daemon: remove it: containerMode dind-rootless has a daemon of its own',
    ],
    [
      'a server before the runner',
      { image: 'redis:8' },
      'does not end, so the runner never starts: write "restartPolicy: Always" here',
    ],
    [
      'a command without an end',
      { image: 'busybox:1', command: ['sleep', 'infinity'] },
      'does not end, so the runner never starts: write "restartPolicy: Always" here',
    ],
  ])('%s as an init container', async (_, fields, message) => {
    const found = await told({ ...DIND, ...pod({ initContainers: [{ name: 'x', ...fields }] }) });

    expect(found).toEqual([`warning: spec.podTemplate.spec.initContainers[0]: ${message} [GR-WARN-11]`]);
  });
});

it.each(MEANT)('no warning: %s', async (_, spec) => {
  expect(await told(spec)).toEqual([]);
});

/** What an error says of the fields, beside where. */
const WRONG = specRows(`
; write "labels: [ubuntu-latest, gpu]"; got
  labels: ["ubuntu-latest,gpu"]
; write "labels: [self-hosted, linux]"; got
  labels: ['["self-hosted", "linux"]']
must have two slashes: write "ubuntu-latest:docker://node:20"
  labels: ["ubuntu-latest:docker:/node:20"]
did you mean "nvidia.com/gpu"?
  resources: {limits: {gpu: 1}}
; write "labels: [linux:host]"; got
  labels: ["linux\\u200b:host"]
, which belongs into a workflow [GR-INPUT-05]
  labels: ["\${{ matrix.os }}"]
; write setupCommand: ["sh", "-c", "a && b"]
  setupCommand: a && b
; write setupCommand: ["sh", "-c", "a\\nb"]
  setupCommand: "a\\nb\\n"
; write "setupCommand: [make, cache]"
  setupCommand: make cache
. It changes only its own container, where it is not root
  setupCommand: apt-get install jq
; did you mean "global"?
  scope: admin
; for one repository write "scope: repo" and "repo: acme/api"
  org: acme/api
; write "org: acme"
  org: https://gitea.example.com/acme/
; write "activeDeadlineSeconds: 21600"
  activeDeadlineSeconds: 6h
; Secrets of the RunnerGroup's own namespace are read: remove it
  authToken: {secretRef: {name: a, key: b, namespace: c}}
is missing; to change the runner, write "name: runner"
  podTemplate: {spec: {containers: [{name: main}]}}
volumeDevices[0].name: is no volume of this pod
  podTemplate: {spec: {containers: [{name: runner, volumeDevices: [{name: disk, devicePath: /dev/x}]}]}}
ports[0].containerPort: must be between 1 and 65535
  podTemplate: {spec: {containers: [{name: runner, ports: [{containerPort: 99999}]}]}}
httpGet.port: must be between 1 and 65535
  podTemplate: {spec: {containers: [{name: runner, readinessProbe: {httpGet: {port: 0}}}]}}
`);

const first = (fields: object): Spec => pod({ initContainers: [{ name: 'x', image: 'busybox:1', ...fields }] });

it.each([
  ['sh', '-c', 'setup && sleep infinity'],
  ['sh', '-c', 'while true; do sync; sleep 60; done'],
  ['/bin/tail', '-n', '0', '-F', '/log'],
  ['bash', '-c', 'exec tail -f /dev/null 2>&1'],
])('a command without an end: %s %s %s', async (...command) => {
  expect(await told(first({ command }))).toEqual([
    'warning: spec.podTemplate.spec.initContainers[0]: does not end, so the runner never starts: write "restartPolicy: Always" here [GR-WARN-11]',
  ]);
});

it('a disk of its own for the daemon has a way', async () => {
  const store = {
    name: 'docker-data',
    ephemeral: {
      volumeClaimTemplate: { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '50Gi' } } } },
    },
  };
  const mounted = { name: 'docker', volumeMounts: [{ name: 'docker-data', mountPath: '/var/lib/docker/' }] };

  expect(
    await told({
      ...DIND,
      containerMode: 'dind',
      ...pod({
        initContainers: [{ ...mounted, volumeMounts: [{ name: 'x', mountPath: '/var/lib/docker/' }] }],
        volumes: [{ ...store, name: 'x' }],
      }),
    }),
  ).toEqual([
    'spec.podTemplate.spec.initContainers[0].volumeMounts[0].mountPath: is reserved: the runner has /var/lib/docker for itself; for another disk, name your volume docker-data, and remove this mount [GR-INPUT-05]',
  ]);
  expect(await told({ ...DIND, containerMode: 'dind', ...pod({ volumes: [store] }) })).toEqual([]);
});

describe('an error says what to write', () => {
  it.each(WRONG)('validate says "%s", and warns of nothing', async (words, spec) => {
    const found = await told(spec);

    expect(found).toHaveLength(1);
    expect(found[0]).toContain(words);
    expect(found[0]).not.toMatch(/^warning/);
  });

  it.each(['null', '~', 'true', '0', '22.04'])('a label that YAML reads as something else: %s', async (label) => {
    const text = quietDocument({ labels: ['LABEL'] }).replace('"LABEL"', label);
    const { stderr } = await runHere(['validate', 'ci.yaml'], {}, folderWith({ 'ci.yaml': text }));

    expect(stderr).toContain(`spec.labels[0]: must be a string, but YAML reads ${label} as `);
    expect(stderr).toContain(`: quote it: "${label}" [GR-INPUT-05]`);
  });

  it.each(['labels:\u00a0[a]', 'org:\u00a0acme', '-\u00a0a'])(
    'a no-break space where YAML needs another: %s',
    async (line) => {
      const { stderr } = await runHere(['validate', 'ci.yaml'], {}, folderWith({ 'ci.yaml': `a: 1\n${line}\nb: 2\n` }));

      expect(stderr).toContain('ci.yaml:2:');
      expect(stderr).toContain('a non-breaking space stands here: use ordinary spaces');
    },
  );
});
