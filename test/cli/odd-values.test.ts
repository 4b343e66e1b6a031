/**
 * Law F121 (docs/spec.md): `validate` warns of values that are legal and cannot be intended, and says what to write.
 */
import { describe, expect, it } from 'vitest';
import { quietDocument, type Spec } from '../support/group-files.ts';
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
const runner = (fields: object): Spec => pod({ containers: [{ name: 'runner', ...fields }] });
const env = (...variables: readonly (readonly [string, string])[]): Spec =>
  runner({ env: variables.map(([name, value]) => ({ name, value })) });
const asks = (requests: object): Spec => ({ resources: { requests } });
const spread = (matchLabels: object, topologyKey = 'topology.kubernetes.io/zone'): Spec =>
  pod({
    topologySpreadConstraints: [
      { maxSkew: 1, topologyKey, whenUnsatisfiable: 'ScheduleAnyway', labelSelector: { matchLabels } },
    ],
  });
const BOUND = { registration: { by: 'serve', for: 'repository' }, registrationToken: undefined };
const DIND = { containerMode: 'dind-rootless' };
const HOST = { containerMode: 'host', defaultLabels: false, labels: ['linux:host'] };

describe('a value that cannot be meant has a warning', () => {
  it.each<[message: string, spec: Spec]>([
    ['resources.requests.memory: is 512 bytes, which no program can use: write 512Mi', asks({ memory: 512 })],
    ['resources.requests.memory: is 4000 bytes, which no program can use: write 4Mi', asks({ memory: '4k' })],
    ['resources.requests.memory: is less than a byte, which no program can use: write 512Mi', asks({ memory: '512m' })],
    [
      'resources.requests.ephemeral-storage: is 10 bytes, which no program can use: write 10Mi',
      asks({ 'ephemeral-storage': '10' }),
    ],
    ['resources.requests.cpu: is 2000 whole cores: write 2000m for thousandths of a core', asks({ cpu: 2000 })],
    [
      'podTemplate.spec.containers[0].resources.limits.memory: is 512 bytes, which no program can use: write 512Mi',
      runner({ resources: { limits: { memory: '512' } } }),
    ],
    [
      'resources.limits.memory: is 4000000 bytes, and no runner starts with that: write 4Gi',
      { resources: { requests: { memory: '2M' }, limits: { memory: '4M' } } },
    ],
    [
      'resources.limits.cpu: is 4 thousandths of a core: write 4',
      { resources: { requests: { cpu: '1m' }, limits: { cpu: '4m' } } },
    ],
    [
      'gitea.url: is github.com, which is no Gitea: write the address of yours, e.g. https://gitea.example.com',
      { gitea: { url: 'https://github.com' } },
    ],
    [
      'podTemplate.spec.nodeSelector["kubernetes.io/arch"]: is x86_64, which no node says: write amd64',
      pod({ nodeSelector: { 'kubernetes.io/arch': 'x86_64' } }),
    ],
    [
      'podTemplate.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values[1]: is aarch64, which no node says: write arm64',
      pod({
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [
                { matchExpressions: [{ key: 'kubernetes.io/arch', operator: 'In', values: ['amd64', 'aarch64'] }] },
              ],
            },
          },
        },
      }),
    ],
    [
      'image: has no docker daemon, which containerMode dind-rootless needs: write "image: gitea/runner:1.0.8-dind-rootless", or "containerMode: dind"',
      { ...DIND, image: 'gitea/runner:1.0.8' },
    ],
    [
      'image: has no docker daemon, which containerMode dind-rootless needs: write "image: gitea/act_runner:nightly-dind-rootless", or "containerMode: dind"',
      { ...DIND, image: 'gitea/act_runner:nightly-dind' },
    ],
    [
      'image: holds no Gitea runner. What CI jobs run in is said by a label, e.g. "labels: [linux:docker://debian:13]": remove the line',
      { ...HOST, image: 'docker.io/gitea/gitea:1.27.3' },
    ],
    [
      'image: holds no Gitea runner. What CI jobs run in is said by a label, e.g. "labels: [linux:docker://debian:13]": remove the line',
      { ...DIND, image: 'docker.gitea.com/runner-images:ubuntu-latest' },
    ],
    [
      'repositories[2]: is of other, and the group has jobs of acme only: write "*"',
      { ...BOUND, repositories: ['web', 'Acme/api', 'other/*', '*/x'] },
    ],
    [
      'repo: ends with .git, as no repository does: write "repo: acme/web"',
      { scope: 'repo', org: undefined, repo: 'acme/web.git' },
    ],
    [
      'limits[0].max: is 12, more than the cap, which is 10, so it limits nothing: write less, or remove it',
      { ...BOUND, limits: [{ per: 'repository', max: 12 }] },
    ],
    [
      'podTemplate.spec.containers[0].env[0].value: stands in git and in each Job. If it is real, revoke it, and name a Secret: write "valueFrom: {secretKeyRef: {name: NAME, key: KEY}}"',
      env(['NPM_TOKEN', 'zzz-zzz-zzz'], ['TOKEN_FILE', '/run/token'], ['DB_PASSWORD', '$(OTHER)']),
    ],
    ['labels[0]: holds quotes, dashes or spaces of a word processor: write "linux:host"', { labels: ['“linux”:host'] }],
    [
      'labels[0]: holds quotes, dashes or spaces of a word processor: write "ubuntu-x:host"',
      { labels: ['ubuntu–x:host'] },
    ],
    [
      'setupCommand[2]: holds quotes, dashes or spaces of a word processor: write "echo \\"a\\" -b"',
      { setupCommand: ['sh', '-c', 'echo “a” –b'] },
    ],
    [
      'gitea.url: is this machine, and for a runner its own pod: write the address at which pods reach it, e.g. http://gitea-http.gitea.svc:3000',
      { gitea: { url: 'https://localhost:3000' } },
    ],
    [
      'proxy.http: is this machine, and for a runner its own pod: write the address at which pods reach it, e.g. http://proxy.example.com:3128',
      { proxy: { http: 'http://127.0.0.1:3128' } },
    ],
    [
      'gitea.url: is the address of a page, Acme: write the address of Gitea, https://git.example.com/sub',
      { gitea: { url: 'https://git.example.com/sub/Acme' } },
    ],
    [
      'gitea.url: is https at port 80, which speaks http: write https://git.example.com, or the right port',
      { gitea: { url: 'https://git.example.com:80' } },
    ],
    [
      'image: names gitea/act-runner, which the runner project has not: write gitea/runner, or gitea/act_runner before 1.0',
      { image: 'gitea/act-runner:0.2.13-dind-rootless' },
    ],
    [
      'setupCommand: runs in an init container, where no docker daemon answers: do this in the workflow. For images, see the Helm value prePull',
      { setupCommand: ['docker', 'pull', 'node:22'] },
    ],
    [
      'podTemplate.spec.nodeSelector["node-role.kubernetes.io/master"]: is a label that no node has since Kubernetes 1.24: write the label of nodes for CI, or node-role.kubernetes.io/control-plane',
      pod({ nodeSelector: { 'node-role.kubernetes.io/master': '' } }),
    ],
    [
      "activeDeadlineSeconds: is 60 s for all of a runner's life, the wait for a node and the pull included: write e.g. 21600",
      { activeDeadlineSeconds: 60 },
    ],
    [
      'podTemplate.spec.nodeSelector["kubernetes.io/os"]: is windows, and runners are Linux programs: write linux, or remove it',
      pod({ nodeSelector: { 'kubernetes.io/os': 'windows' } }),
    ],
    [
      'podTemplate.spec.tolerations[1]: tolerates every taint, also of nodes that are ill: write the key of the taint that you mean',
      pod({ tolerations: [{ key: 'ci', operator: 'Exists' }, { operator: 'Exists' }] }),
    ],
    [
      'setupCommand: is one program with its arguments, and no shell reads it: write setupCommand: ["sh", "-c", "make cache && ls -l"]',
      { setupCommand: ['make cache && ls -l'] },
    ],
    [
      'setupCommand: is one program with its arguments, and no shell reads it: write setupCommand: ["sh", "-c", "a && b"]',
      { setupCommand: ['a', '&&', 'b'] },
    ],
    [
      'labels[0]: ubuntu-24.04-arm asks for other machines, and nothing picks them: write "podTemplate: {spec: {nodeSelector: {kubernetes.io/arch: arm64}}}"',
      { labels: ['ubuntu-24.04-arm:host'] },
    ],
    [
      'labels[0]: ubuntu-22.04-armv7 asks for other machines, and nothing picks them: write "podTemplate: {spec: {nodeSelector: {kubernetes.io/arch: arm}}}"',
      { labels: ['ubuntu-22.04-armv7:host'] },
    ],
    [
      'labels[0]: gpu asks for other machines, and nothing picks them: write "resources: {limits: {nvidia.com/gpu: 1}}"',
      { labels: ['gpu:host'] },
    ],
    [
      'podTemplate.spec.containers[0].env[0]: DOCKER_TLS_VERIFY leads docker away from the daemon of containerMode dind-rootless, which has a socket without TLS: remove it',
      { ...DIND, ...env(['DOCKER_TLS_VERIFY', '1']) },
    ],
    [
      'runnerConfig.runner.envs.DOCKER_HOST: DOCKER_HOST leads docker away from the daemon of containerMode dind-rootless, which has a socket without TLS: remove it',
      { ...DIND, runnerConfig: { runner: { envs: { DOCKER_HOST: 'tcp://docker:2376' } } } },
    ],
    [
      'podTemplate.spec.containers[0].env[0]: DOCKER_CERT_PATH means nothing without DOCKER_HOST: write that, too, or remove it',
      { ...HOST, ...env(['DOCKER_CERT_PATH', '/certs']) },
    ],
    [
      'podTemplate.spec.containers[0].env[0]: port 2376 speaks TLS: write DOCKER_TLS_VERIFY: "1" and DOCKER_CERT_PATH, too',
      { ...HOST, ...env(['DOCKER_HOST', 'tcp://docker:2376']) },
    ],
    [
      'gracefulStopSeconds: is 3 s for a CI job to finish after a stop: write e.g. 10800, or 0 if it need not',
      { gracefulStopSeconds: 3 },
    ],
    [
      'keepFailedSeconds: is 2 s for people to come and enter the pod: write e.g. 3600, or 0 if nobody does',
      { keepFailedSeconds: 2 },
    ],
    [
      'podTemplate.spec.volumes[0].secret.defaultMode: is 0620 in octal: write 0400',
      {
        ...pod({
          containers: [{ name: 'runner', volumeMounts: [{ name: 'a', mountPath: '/a' }] }],
          volumes: [{ name: 'a', secret: { secretName: 'a', defaultMode: 400 } }],
        }),
      },
    ],
    [
      'podTemplate.spec.initContainers[0].env[0]: DOCKER_TLS_CERTDIR leads docker away from the daemon of containerMode dind, which has a socket without TLS: remove it',
      {
        containerMode: 'dind',
        ...pod({ initContainers: [{ name: 'docker', env: [{ name: 'DOCKER_TLS_CERTDIR', value: '/c' }] }] }),
      },
    ],
    [
      'podTemplate.spec.topologySpreadConstraints[0].labelSelector.matchLabels["app.kubernetes.io/name"]: is gitea-runners, which no pod of the group has, so nothing is spread: write "app.kubernetes.io/name: gitea-runner"',
      spread({ 'app.kubernetes.io/name': 'gitea-runners' }),
    ],
    [
      'podTemplate.spec.topologySpreadConstraints[0].labelSelector.matchLabels.app: is ci, which no pod of the group has, so nothing is spread: write "gitea.bpg.pw/runnergroup-name: ci"',
      spread({ 'app.kubernetes.io/name': 'gitea-runner', app: 'ci' }),
    ],
    [
      'podTemplate.spec.securityContext.runAsUser: is 0, and so the daemon of containerMode dind-rootless does not start: remove it, or write "containerMode: dind"',
      { ...DIND, ...pod({ securityContext: { runAsUser: 0 } }) },
    ],
    [
      'podTemplate.spec.containers[0].securityContext.privileged: is false, and so the daemon of containerMode dind-rootless does not start: remove it, or write "containerMode: dind"',
      { ...DIND, ...runner({ securityContext: { privileged: false } }) },
    ],
  ])('validate warns of spec.%s', async (message, spec) => {
    expect(await told(spec)).toEqual([`warning: spec.${message} [GR-WARN-14]`]);
  });

  const bound = (spec: Spec): Spec => ({ ...BOUND, ...spec });
  const mount = (fields: object) =>
    pod({
      containers: [{ name: 'runner', volumeMounts: [{ name: 'x', mountPath: '/x', ...fields }] }],
      volumes: [{ name: 'x', emptyDir: {} }],
    });
  const near = (field: string) => `podTemplate.spec.containers[0].volumeMounts[0].${field}`;
  const docker = (image: string): Spec => ({ ...DIND, labels: [`a:docker://${image}`] });
  const options = (text: string): Spec => ({ ...DIND, runnerConfig: { container: { options: text } } });

  it.each<[message: string, spec: Spec]>([
    [
      "limits[0].branches[0]: is no branch of Gitea, but git's name for one: write release/*",
      bound({ limits: [{ branches: ['refs/heads/release/*'], max: 1 }] }),
    ],
    [
      "limits[0].branches[0]: is no branch of Gitea, but git's name for one: write main",
      bound({ limits: [{ branches: ['origin/main'], max: 1 }] }),
    ],
    ['order[2]: never counts beside "*", which fits all: remove one of them', bound({ order: ['web', '*', 'api'] })],
    [
      'repositories[0]: never counts beside "*", which fits all: remove one of them',
      bound({ repositories: ['web', '*'] }),
    ],
    [
      'idleSchedule[1]: never counts: idleSchedule[0] has as many runners at these hours. Raise runners, or remove it',
      {
        idleSchedule: [
          { runners: 3, from: '06:00', to: '20:00' },
          { runners: 2, from: '08:00', to: '10:00' },
        ],
      },
    ],
    [
      'podTemplate.spec.topologySpreadConstraints[0].topologyKey: is no label that Kubernetes gives nodes: write kubernetes.io/hostname',
      spread({}, 'hostname'),
    ],
    [`${near('mountPath')}: is read by no shell: write /data/.m2`, mount({ mountPath: '~/.m2' })],
    [`${near('subPath')}: is read by no shell: write x`, mount({ subPath: '~/x' })],
    [
      'labels[0]: names the image https://docker.io/library/node:20, which no registry has: write docker.io/library/node:20',
      docker('https://docker.io/library/node:20'),
    ],
    [
      'labels[0]: names the image docker.io/Library/Node:20-LTS, which no registry has: write docker.io/library/node:20-LTS',
      docker('docker.io/Library/Node:20-LTS'),
    ],
    ['labels[0]: names the image node:20:slim with two tags: keep one', docker('node:20:slim')],
    ['labels[0]: names the image node@latest, which no registry has: write node:latest', docker('node@latest')],
    [
      "runnerConfig.container.options: mounts /var/run/docker.sock of the runner's own pod, which has nothing there, and not of the node: remove it",
      options('-v /var/run/docker.sock:/var/run/docker.sock'),
    ],
    [
      'proxy.http: has no namespace, so each pod looks for squid in its own: write http://squid.NAMESPACE.svc:3128',
      { proxy: { http: 'http://squid:3128' } },
    ],
  ])('validate warns of spec.%s', async (message, spec) => {
    expect(await told(spec)).toEqual([`warning: spec.${message} [GR-WARN-14]`]);
  });

  const inSize = (template: object): Spec => ({ sizes: [{ name: 'large', podTemplate: template }] });
  const affinity = (term: object): Spec =>
    pod({ affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } });
  const volume = (source: object): Spec => pod({ volumes: [{ name: 'data', ...source }] });
  const inRunner = 'podTemplate.spec.containers[0]';
  const noRunner =
    'holds no Gitea runner. What CI jobs run in is said by a label, e.g. "labels: [linux:docker://debian:13]": remove the line';
  const noEphemeral =
    'is older than act_runner 0.2.12, which brought ephemeral runners: it never registers. Remove the line';
  const noSelector =
    'selects no pod, so it has no effect: write "labelSelector: {matchLabels: {gitea.bpg.pw/runnergroup-name: ci}}"';
  const noDaemon =
    'and so the daemon of containerMode dind-rootless does not start: remove it, or write "containerMode: dind"';
  const onlyData =
    'changes only its own container, where it is not root: the runner finds what is in /data, and CI jobs with docker do not. Put programs into the image that a label or spec.image names';
  const onlyRunner = 'reaches only container runner, and neither the registration nor CI jobs: write';
  const page = (path: string, base: string) =>
    `gitea.url: is the address of a page, ${path}: write the address of Gitea, ${base}`;

  // Law F240: one rule, and each place where such a value can stand.
  it.each<[message: string, spec: Spec]>([
    [`${inRunner}.image: ${noRunner}`, { ...DIND, ...runner({ image: 'ghcr.io/actions/actions-runner:2.330.0' }) }],
    [
      `sizes[0].${inRunner}.image: ${noRunner}`,
      { ...HOST, ...inSize({ spec: { containers: [{ name: 'runner', image: 'gitlab/gitlab-runner:v18' }] } }) },
    ],
    [`image: ${noEphemeral}`, { ...DIND, image: 'gitea/act_runner:0.2.11-dind-rootless' }],
    [
      `${inRunner}.image: ${noEphemeral}`,
      { ...HOST, ...runner({ image: 'registry.corp.io/gitea/act_runner:v0.1.8' }) },
    ],
    [
      'defaultLabels[0]: names the image node:20:slim with two tags: keep one',
      { ...DIND, defaultLabels: ['a:docker://node:20:slim'] },
    ],
    [
      'podTemplate.spec.volumes[0].emptyDir.sizeLimit: is less than a byte, which no program can use: write 512Mi',
      volume({ emptyDir: { medium: 'Memory', sizeLimit: '512m' } }),
    ],
    [
      'podTemplate.spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources.requests.storage: is 50 bytes, which no program can use: write 50Mi',
      volume({
        ephemeral: {
          volumeClaimTemplate: { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: 50 } } } },
        },
      }),
    ],
    [
      `podTemplate.spec.topologySpreadConstraints[0]: ${noSelector}`,
      pod({ topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'a', whenUnsatisfiable: 'ScheduleAnyway' }] }),
    ],
    [
      `podTemplate.spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]: ${noSelector}`,
      affinity({ topologyKey: 'kubernetes.io/hostname' }),
    ],
    [
      'podTemplate.spec.topologySpreadConstraints[0].labelSelector.matchExpressions[0].values: is x or y, which no pod of the group has, so nothing is spread: write "gitea.bpg.pw/runnergroup-name: ci"',
      pod({
        topologySpreadConstraints: [
          {
            maxSkew: 1,
            topologyKey: 'a',
            whenUnsatisfiable: 'ScheduleAnyway',
            labelSelector: { matchExpressions: [{ key: 'app', operator: 'In', values: ['x', 'y'] }] },
          },
        ],
      }),
    ],
    [
      `podTemplate.spec.securityContext.runAsUser: is 1001, ${noDaemon}`,
      { ...DIND, ...pod({ securityContext: { runAsUser: 1001 } }) },
    ],
    [
      `sizes[0].${inRunner}.securityContext.runAsUser: is 65534, ${noDaemon}`,
      { ...DIND, ...inSize({ spec: { containers: [{ name: 'runner', securityContext: { runAsUser: 65_534 } }] } }) },
    ],
    [
      'podTemplate.spec.securityContext.runAsNonRoot: is true, and the image names its user and no number, so the kubelet refuses it: write "runAsUser: 1000", too',
      { ...DIND, ...pod({ securityContext: { runAsNonRoot: true } }) },
    ],
    [
      `${inRunner}.securityContext.readOnlyRootFilesystem: is true, ${noDaemon}`,
      { ...DIND, ...runner({ securityContext: { readOnlyRootFilesystem: true } }) },
    ],
    [
      page('org/acme/settings/actions/runners', 'https://git.corp.io'),
      { gitea: { url: 'https://git.corp.io/org/acme/settings/actions/runners' } },
    ],
    [
      page('acme/web/actions', 'https://git.corp.io/git'),
      { gitea: { url: 'https://git.corp.io/git/acme/web/actions' } },
    ],
    [
      page('-/admin/actions/runners', 'https://git.corp.io'),
      { scope: 'global', org: undefined, gitea: { url: 'https://git.corp.io/-/admin/actions/runners' } },
    ],
    [
      'sizes[0].podTemplate.spec.nodeSelector["kubernetes.io/os"]: is windows, and runners are Linux programs: write linux, or remove it',
      inSize({ spec: { nodeSelector: { 'kubernetes.io/os': 'windows' } } }),
    ],
    // Law F241: container `setup`, `register` and CI jobs do not have what only the runner has.
    [`setupCommand: ${onlyData}`, { setupCommand: ['sh', '-c', 'apk add --no-cache jq yq'] }],
    [`setupCommand: ${onlyData}`, { setupCommand: ['npm', 'install', '-g', 'pnpm'] }],
    [
      `setupCommand: ${onlyData}`,
      { setupCommand: ['sh', '-c', 'curl -fsSL https://x/kubectl -o /usr/local/bin/kubectl'] },
    ],
    [
      `${inRunner}.env[0]: ${onlyRunner} "proxy: {http: …, https: …, noProxy: […]}" below spec in its place`,
      { ...DIND, ...env(['HTTP_PROXY', 'http://proxy.corp.io:3128'], ['NO_PROXY', '.corp.io']) },
    ],
    [
      `${inRunner}.env[0]: ${onlyRunner} "caBundle: {configMapRef: {name: …, key: …}}" below spec in its place`,
      { ...DIND, ...env(['NODE_EXTRA_CA_CERTS', '/ca/ca.crt']) },
    ],
    [
      `${inRunner}.volumeMounts[0]: ${onlyRunner} "caBundle: {configMapRef: {name: …, key: …}}" below spec in its place`,
      { ...DIND, ...runner({ volumeMounts: [{ name: 'data', mountPath: '/etc/ssl/certs/corp.crt', subPath: 'ca' }] }) },
    ],
  ])('validate warns of spec.%s', async (message, spec) => {
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

it.each<[string, Spec]>([
  ['amounts of every day', asks({ cpu: '64', memory: '1Mi', 'ephemeral-storage': '2Gi' })],
  ['words of people in annotations', { podTemplate: { metadata: { annotations: { note: 'it’s “ours” – yes' } } } }],
  [
    'a label of another machine and its nodes',
    { labels: ['arm64:host'], ...pod({ nodeSelector: { 'kubernetes.io/arch': 'arm64' } }) },
  ],
  ['a label of a device and the device', { labels: ['gpu:host'], resources: { limits: { 'nvidia.com/gpu': 1 } } }],
  ['a shell of its own', { setupCommand: ['sh', '-c', 'a && b'] }],
  ['a Gitea in a folder with the name of its owner', { org: 'gitea', gitea: { url: 'https://acme.io/gitea' } }],
  ['a label of a device that is none', { labels: ['gpu-stub:docker://debian:13', 'no-gpu:host'] }],
  ['plain http within the cluster', { gitea: { url: 'http://gitea-http.gitea.svc.cluster.local:3000' } }],
  [
    'docker in a setup that knows a daemon',
    { ...HOST, ...env(['DOCKER_HOST', 'tcp://d:2375']), setupCommand: ['docker', 'ps'] },
  ],
  [
    'a daemon of its own',
    { ...HOST, ...env(['DOCKER_HOST', 'tcp://d:2376'], ['DOCKER_TLS_VERIFY', '1'], ['DOCKER_CERT_PATH', '/c']) },
  ],
  [
    'modes that are written right',
    pod({
      volumes: [
        { name: 'data', emptyDir: {} },
        { name: 'a', secret: { secretName: 'a', defaultMode: 0o400 } },
      ],
    }),
  ],
  ['no time for a stop, and none for a look', { gracefulStopSeconds: 0, keepFailedSeconds: 0 }],
  [
    'its own pods are spread',
    {
      ...spread({ 'gitea.bpg.pw/runnergroup-name': 'ci', team: 'a' }),
      podTemplate: {
        metadata: { labels: { team: 'a' } },
        ...(spread({ 'gitea.bpg.pw/runnergroup-name': 'ci', team: 'a' })['podTemplate'] as object),
      },
    },
  ],
  [
    'a runtime that needs no rights',
    {
      ...DIND,
      ...pod({
        runtimeClassName: 'sysbox-runc',
        containers: [{ name: 'runner', securityContext: { privileged: false } }],
      }),
    },
  ],
  [
    'images and branches as they may be',
    {
      ...DIND,
      ...BOUND,
      labels: ['a:docker://Registry.Example.com:5000/ci/node:20-LTS', 'b:docker://localhost/x:1', 'c:docker:node:V1'],
      limits: [{ branches: ['refs', 'original/main', '**'], max: 1 }],
      order: ['web', '*'],
      repositories: ['*'],
    },
  ],
  [
    'hours beside and around each other',
    {
      idleSchedule: [
        { runners: 2, from: '06:00', to: '20:00' },
        { runners: 3, from: '08:00', to: '10:00' },
        { runners: 1, from: '07:00', to: '09:00', days: ['Sat'] },
        { runners: 1, from: '22:00', to: '02:00' },
      ],
    },
  ],
  [
    'a folder that the pod mounts',
    {
      ...DIND,
      runnerConfig: { container: { options: '-v /cache:/cache' } },
      ...pod({
        containers: [{ name: 'runner', volumeMounts: [{ name: 'c', mountPath: '/cache' }] }],
        volumes: [{ name: 'c', emptyDir: {} }],
      }),
    },
  ],
  ['a label of nodes of its own', spread({}, 'rack')],
  ['a suspension', { maxActiveRunners: 1 }],
  ['a sidecar', pod({ initContainers: [{ name: 'x', image: 'redis:8', restartPolicy: 'Always' }] })],
  ['a step before the runner', pod({ initContainers: [{ name: 'x', image: 'busybox:1', command: ['true'] }] })],
])('no warning: %s', async (_, spec) => {
  expect(await told(spec)).toEqual([]);
});

const first = (fields: object): Spec => pod({ initContainers: [{ name: 'x', image: 'busybox:1', ...fields }] });
const shell = (script: string): Spec => first({ command: ['sh', '-c'], args: [script] });

// Law F242.
it.each<[string, Spec]>([
  [
    'a small step before the runner',
    first({ command: ['chown', '-R', '1000', '/cache'], resources: { limits: { cpu: '5m', memory: '16Mi' } } }),
  ],
  ['a small sidecar', first({ restartPolicy: 'Always', resources: { limits: { memory: '24Mi' } } })],
  [
    'a small container beside the runner, of a size',
    {
      sizes: [
        {
          name: 'large',
          podTemplate: {
            spec: {
              initContainers: [
                { name: 'x', image: 'a:1', restartPolicy: 'Always', resources: { limits: { cpu: '2m' } } },
              ],
            },
          },
        },
      ],
    },
  ],
  [
    'a loop that is left',
    shell('while true; do\n  if curl -fsS https://proxy.corp.io/ready; then break; fi\n  sleep 2\ndone'),
  ],
  ['a loop with an exit', shell('while :; do nc -z db 5432 && exit 0; sleep 1; done')],
  ['a wait that is timed out', shell('timeout 60 tail -f /dev/null & curl -fsS https://mirror/; kill $!')],
  ['a wait in the background', shell('tail -f /var/log/x &\nwarm-up')],
  ['a wait until a line comes', shell('tail -f /log | grep -q ready')],
  ['words about a wait', shell('echo "write sleep infinity"')],
  ['a wait if something is missing', shell('test -f /ok || sleep infinity')],
  [
    'a password of tests',
    {
      ...HOST,
      ...env(['DATABASE_PASSWORD', 'postgres'], ['ROOT_PASSWORD', 'test1234'], ['API_KEY', 'changeme-please']),
    },
  ],
  [
    'a cross build',
    {
      ...DIND,
      labels: [
        'windows-cross:docker://a.io/mingw:14',
        'macos:docker://a.io/osxcross:14',
        'qemu-arm64:docker://a.io/b:1',
      ],
      defaultLabels: false,
    },
  ],
  [
    'machines that a runtime or a toleration names',
    { labels: ['x-arm64:host'], ...pod({ runtimeClassName: 'arm-nodes' }) },
  ],
  [
    'a proxy and a CA of the only container that runs CI jobs',
    { ...HOST, ...env(['HTTPS_PROXY', 'http://p.corp.io:1'], ['NODE_EXTRA_CA_CERTS', '/ca']) },
  ],
  [
    'a small volume, a selector of all, a folder below Gitea',
    {
      ...pod({
        volumes: [{ name: 'data', emptyDir: { sizeLimit: '64Ki' } }],
        topologySpreadConstraints: [
          { maxSkew: 1, topologyKey: 'a', whenUnsatisfiable: 'ScheduleAnyway', labelSelector: {} },
        ],
      }),
      gitea: { url: 'https://corp.io/tools/git' },
    },
  ],
  [
    'a command that fills /data',
    { setupCommand: ['sh', '-c', 'curl -fsSL https://x/y -o /data/y && npm install --prefix /data z'] },
  ],
  [
    'a rootless daemon with its own user',
    { ...DIND, ...pod({ securityContext: { runAsUser: 1000, runAsNonRoot: true } }) },
  ],
  ['a new runner', { ...DIND, image: 'gitea/act_runner:0.2.13-dind-rootless' }],
])('no warning: %s', async (_, spec) => {
  expect(await told(spec)).toEqual([]);
});

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
  it.each<[Spec, string]>([
    [{ labels: ['ubuntu-latest,gpu'] }, '; write "labels: [ubuntu-latest, gpu]"; got'],
    [{ labels: ['["self-hosted", "linux"]'] }, '; write "labels: [self-hosted, linux]"; got'],
    [{ labels: ['linux\u200b:host'] }, '; write "labels: [linux:host]"; got'],
    [{ labels: [`$${'{'}{ matrix.os }}`] }, ', which belongs into a workflow [GR-INPUT-05]'],
    [{ setupCommand: 'a && b' }, '; write setupCommand: ["sh", "-c", "a && b"]'],
    [{ setupCommand: 'a\nb\n' }, '; write setupCommand: ["sh", "-c", "a\\nb"]'],
    [{ setupCommand: 'make cache' }, '; write "setupCommand: [make, cache]"'],
    [{ setupCommand: 'apt-get install jq' }, '. It changes only its own container, where it is not root'],
    [{ scope: 'admin' }, '; did you mean "global"?'],
    [{ org: 'acme/api' }, '; for one repository write "scope: repo" and "repo: acme/api"'],
    [{ org: 'https://gitea.example.com/acme/' }, '; write "org: acme"'],
    [{ activeDeadlineSeconds: '6h' }, '; write "activeDeadlineSeconds: 21600"'],
    [
      { authToken: { secretRef: { name: 'a', key: 'b', namespace: 'c' } } },
      "; Secrets of the RunnerGroup's own namespace are read: remove it",
    ],
    [pod({ containers: [{ name: 'main' }] }), 'is missing; to change the runner, write "name: runner"'],
    [
      runner({ volumeDevices: [{ name: 'disk', devicePath: '/dev/x' }] }),
      'volumeDevices[0].name: is no volume of this pod',
    ],
    [runner({ ports: [{ containerPort: 99_999 }] }), 'ports[0].containerPort: must be between 1 and 65535'],
    [runner({ startupProbe: { httpGet: { port: 0 } } }), 'httpGet.port: must be between 1 and 65535'],
  ])('case %#', async (spec, words) => {
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
