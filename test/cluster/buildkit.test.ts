/**
 * Image builds without privilege, on a real kubelet whose containerd 2 knows user namespaces: `containerMode: buildkit` under each level of
 * Pod Security that it can have, and dockerd in a user namespace. BuildKit, buildx, containerd and runc are built from their modules;
 * rootlesskit and newuidmap are Debian's. This kernel has no AppArmor.
 */
import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import * as z from 'zod';
import { waitUntil } from '../servers/process.ts';
import { closeAfterTests } from './close-after-tests.ts';
import { PodsRig, REPOSITORY, type Wanted, within } from './pods-rig.ts';
import {
  buildkitImage,
  RUNNER_WITH_BUILDX_IMAGE,
  RUNNER_WITH_CLIENT_IMAGE,
  runnerWithBuildxImage,
} from './stack/docker-images.ts';
import { type LoginRegistry, startLoginRegistry } from './stack/login-registry.ts';

/** Folder in which rootless BuildKit looks for its configuration, and where runners keep a cache of layers. */
const CONFIG = '/home/user/.config/buildkit';
const CACHE = '/cache';
const SECRET = 's3cret-of-the-build';

let rig: PodsRig;
let images: LoginRegistry;
let base: string;

beforeAll(async () => {
  const { runner, buildkit: builds } = inject('clusterBuilds');
  if (!builds) throw new Error('this file needs BuildKit: name it on the command line, or leave out CLUSTER_SCENARIOS');
  rig = await PodsRig.start('buildkit', { runtime: builds.runtime });
  const { gitea, kubernetes, machine, playground } = rig;
  const archive = join(rig.images, 'image.tar');
  for (const write of [
    () => buildkitImage(archive, builds.programs),
    () => runnerWithBuildxImage(archive, runner, builds.programs),
  ]) {
    await write();
    await kubernetes.importImage(archive);
  }
  base = await rig.serveCiImage();
  images = await startLoginRegistry(playground, machine.outside);
  await kubernetes.apply(...objects());

  const { admin } = gitea;
  const login = JSON.stringify({
    auths: { [images.host]: { auth: Buffer.from(`${images.username}:${images.password}`).toString('base64') } },
  });
  for (const [name, data] of Object.entries({ LOGIN: login, TOKEN: SECRET }))
    await admin.call('PUT', `/repos/${REPOSITORY}/actions/secrets/${name}`, { data });
  const secret = (key: string): string => `\${{ secrets.${key} }}`;
  const env = { LOGIN: secret('LOGIN'), TOKEN: secret('TOKEN') };
  for (const [file, script] of WORKFLOWS()) await rig.addWorkflow(file, script, { env });
});

closeAfterTests(() => rig);

function plainRegistries(): string {
  return [base.split('/', 1), images.host].map((host) => `[registry."${host}"]\n  http = true\n`).join('');
}

/** BuildKit's configuration, and a volume that all runners of the group share. */
function objects() {
  const folder = join(rig.playground.folder, 'cache');
  mkdirSync(folder);
  chmodSync(folder, 0o777);
  const capacity = { storage: '1Gi' };
  const claimed = { accessModes: ['ReadWriteMany'], storageClassName: '', volumeName: 'layers' };
  return [
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'buildkitd', namespace: 'runners' },
      data: { 'buildkitd.toml': plainRegistries() },
    },
    {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: 'layers' },
      spec: { capacity, accessModes: ['ReadWriteMany'], storageClassName: '', hostPath: { path: folder } },
    },
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'layers', namespace: 'runners' },
      spec: { ...claimed, resources: { requests: capacity } },
    },
  ];
}

/** Makes a BuildKit for all, as a team would run it: the pod of mode `buildkit` without the runner. */
function builder() {
  const metadata = { name: 'buildkitd', namespace: 'elsewhere' };
  const config = { name: 'configuration', mountPath: CONFIG };
  const container = {
    name: 'buildkit',
    image: 'moby/buildkit:v0.34.2-rootless',
    args: ['--addr=tcp://0.0.0.0:1234', '--oci-worker-no-process-sandbox'],
    readinessProbe: { tcpSocket: { port: 1234 }, periodSeconds: 1 },
    securityContext: { capabilities: { add: ['SETGID', 'SETUID'], drop: ['ALL'] } },
    volumeMounts: [config, { name: 'data', mountPath: '/home/user/.local/share/buildkit' }],
  };
  return [
    {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'elsewhere', labels: { 'pod-security.kubernetes.io/enforce': 'baseline' } },
    },
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'builder', namespace: 'elsewhere' } },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { 'buildkitd.toml': plainRegistries() } },
    { apiVersion: 'v1', kind: 'Service', metadata, spec: { selector: { app: 'buildkitd' }, ports: [{ port: 1234 }] } },
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { ...metadata, labels: { app: 'buildkitd' } },
      spec: {
        serviceAccountName: 'builder',
        automountServiceAccountToken: false,
        securityContext: { fsGroup: 1000 },
        containers: [container],
        volumes: [
          { name: 'configuration', configMap: { name: 'buildkitd' } },
          { name: 'data', emptyDir: {} },
        ],
      },
    },
  ];
}

/** Two stages, a cache mount, a secret, a file of another user, and how the ids of the build are mapped. */
const dockerfile = (): string => `FROM ${base} AS made
WORKDIR /made
RUN --mount=type=cache,target=/cached echo kept > /cached/file && cp /cached/file cached
RUN --mount=type=secret,id=token wc -c < /run/secrets/token > size
RUN id -u > user && touch others && chown 33:33 others
RUN echo "the ids are" $(head -n 1 /proc/self/uid_map)
FROM scratch
COPY --from=made /made /made
`;

const WRITE = (): string => `mkdir context && cd context
cat > Dockerfile <<'END'
${dockerfile()}END
mkdir -p "$HOME/.docker" && printf %s "$LOGIN" > "$HOME/.docker/config.json"
`;

const WORKFLOWS = (): readonly (readonly [file: string, script: string])[] => [
  [
    'buildx.yml',
    `${WRITE()}docker buildx build --progress plain --secret id=token,env=TOKEN --push -t ${images.host}/acme/web:1 .`,
  ],
  [
    'buildctl.yml',
    `${WRITE()}buildctl build --progress plain --frontend dockerfile.v0 --local context=. --local dockerfile=. \\
  --secret id=token,env=TOKEN --output type=image,name=${images.host}/acme/web:2,push=true \\
  --export-cache type=registry,ref=${images.host}/acme/web:cache,mode=max --import-cache type=registry,ref=${images.host}/acme/web:cache`,
  ],
  [
    'volume.yml',
    `${WRITE()}docker buildx build --progress plain --secret id=token,env=TOKEN --output type=oci,dest=../image.tar \\
  --cache-to type=local,dest=${CACHE}/web,mode=max --cache-from type=local,src=${CACHE}/web .`,
  ],
  [
    'once.yml',
    `${WRITE()}buildctl build --progress plain --frontend dockerfile.v0 --local context=. --local dockerfile=. \\
  --secret id=token,env=TOKEN --output type=image,name=${images.host}/acme/web:3,push=true`,
  ],
  [
    'slow.yml',
    `mkdir context && cd context && printf 'FROM ${base}\\nRUN echo it runs && sleep 20\\n' > Dockerfile
docker buildx build --progress plain --output type=oci,dest=../image.tar .`,
  ],
  [
    'pull.yml',
    `docker pull ${base} && echo "pulled $(docker images --format '{{.Repository}}:{{.Tag}}')"
echo "the ids are" $(head -n 1 /proc/self/uid_map)`,
  ],
];

interface Kind {
  readonly securityProfile?: string;
  readonly hostUsers?: false;
}

function wanted({ securityProfile, hostUsers }: Kind): Wanted {
  const podTemplate = {
    spec: {
      ...(hostUsers === false && { hostUsers }),
      initContainers: [{ name: 'buildkit', volumeMounts: [{ name: 'configuration', mountPath: CONFIG }] }],
      containers: [{ name: 'runner', volumeMounts: [{ name: 'layers', mountPath: CACHE }] }],
      volumes: [
        { name: 'configuration', configMap: { name: 'buildkitd' } },
        { name: 'layers', persistentVolumeClaim: { claimName: 'layers' } },
      ],
    },
  };
  return {
    mode: 'buildkit',
    image: RUNNER_WITH_BUILDX_IMAGE,
    seesJobs: true,
    spec: { podTemplate, ...(securityProfile !== undefined && { securityProfile }) },
  };
}

/** Runs the CI job of a workflow. Answers what it said. */
async function ran(file: string, of: Wanted): Promise<string> {
  return (await rig.run(await rig.queue(file, of))).log;
}

async function enforce(level: string): Promise<void> {
  const label = 'pod-security.kubernetes.io/enforce';
  await rig.kubernetes.kubectl(['label', '--overwrite', 'namespace', 'runners', `${label}=${level}`]);
}

const Index = z.object({
  manifests: z.array(z.object({ digest: z.string(), platform: z.object({ architecture: z.string() }) })),
});
const Manifest = z.object({ layers: z.array(z.object({ digest: z.string() })) });

/** True if the image is in the registry, and no layer contains the secret. */
async function pushed(tag: string): Promise<boolean> {
  const authorization = `Basic ${Buffer.from(`${images.username}:${images.password}`).toString('base64')}`;
  const accept = ['index.v1+json', 'manifest.v1+json'].map((kind) => `application/vnd.oci.image.${kind}`).join();
  const ask = (path: string) =>
    fetch(`http://${images.host}/v2/acme/web/${path}`, { headers: { accept, authorization } });
  const first: unknown = await (await ask(`manifests/${tag}`)).json();
  const index = Index.safeParse(first).data;
  const digest = index?.manifests.find(({ platform }) => platform.architecture === 'amd64')?.digest;
  const { layers } = Manifest.parse(digest === undefined ? first : await (await ask(`manifests/${digest}`)).json());
  const bodies = await Promise.all(
    layers.map(async (layer) => {
      const packed = await (await ask(`blobs/${layer.digest}`)).blob();
      return await new Response(packed.stream().pipeThrough(new DecompressionStream('gzip'))).text();
    }),
  );
  return bodies.join().includes('made/cached') && !bodies.join().includes(SECRET);
}

/** The first line of a map of ids: the first one inside, which it is outside, and how many follow. */
function idsIn(log: string): string | undefined {
  return /the ids are (\d+ \d+ \d+)\s*$/m.exec(log)?.[1];
}

describe.each([
  { what: 'by default', level: 'privileged', kind: {} },
  { what: 'with securityProfile baseline', level: 'baseline', kind: { securityProfile: 'baseline' } },
  {
    what: 'with securityProfile baseline in a user namespace',
    level: 'baseline',
    kind: { securityProfile: 'baseline', hostUsers: false },
  },
] as const)('containerMode buildkit $what', ({ level, kind }) => {
  it(`builds with docker buildx and pushes, in a namespace that enforces ${level}`, async () => {
    await enforce(level);

    const log = await ran('buildx.yml', wanted(kind));

    expect(await pushed('1')).toBe(true);
    expect(log).not.toContain(SECRET);
    // Root in a step is the user of BuildKit in its pod.
    expect(idsIn(log)).toBe('0 1000 1');
  });
});

describe('containerMode buildkit', () => {
  beforeAll(() => enforce('privileged'));

  it('builds with buildctl, and the next runner finds the layers in the registry', async () => {
    const first = await ran('buildctl.yml', wanted({}));
    const second = await ran('buildctl.yml', wanted({}));

    expect(await pushed('2')).toBe(true);
    expect([first, second].map((log) => /\bCACHED\b/.test(log))).toEqual([false, true]);
  });

  it('finds the layers of the runner before in a volume that all share', async () => {
    const first = await ran('volume.yml', wanted({}));
    const second = await ran('volume.yml', wanted({}));

    expect([first, second].map((log) => /\bCACHED\b/.test(log))).toEqual([false, true]);
  });

  it('lets a build end when its pod is pruned', async () => {
    const { name, manifest } = await rig.queue('slow.yml', wanted({}));
    await rig.apply(manifest);
    const job = await rig.openJob();
    await waitUntil('the build runs', async () => (await rig.logOfJob(job)).includes('it runs'), within);

    await rig.remove(name);
    const { conclusion } = await rig.ended(job);

    expect(conclusion, await rig.logOfJob(job)).toBe('success');
  });

  it('registers no runner when BuildKit does not start', async () => {
    const of = wanted({});
    const { name, manifest } = await rig.queue('buildx.yml', of);

    await rig.apply(manifest.replace('--oci-worker-no-process-sandbox', '--no-such-flag'));
    const said = async (): Promise<boolean> => (await rig.logOf(name, 'register').catch(() => '')).includes('Not reg');
    await waitUntil('register gives up', said, within);

    const { status } = await rig.openJob();
    await rig.remove(name);
    expect(status).toBe('queued');
    await rig.podGoes(name);
    // The CI job is still there for a good one.
    await rig.run(await rig.generate(of));
  });
});

it('containerMode host with a builder elsewhere builds from a namespace that enforces restricted, with a BuildKit in one that enforces baseline', async () => {
  await enforce('restricted');
  await rig.kubernetes.apply(...builder());
  await rig.kubernetes.kubectl(['wait', '-n', 'elsewhere', '--for=condition=Ready', 'pod/buildkitd', '--timeout=2m']);
  await rig.kubernetes.refreshDns();
  const env = [{ name: 'BUILDKIT_HOST', value: 'tcp://buildkitd.elsewhere.svc:1234' }];

  await ran('once.yml', {
    image: RUNNER_WITH_BUILDX_IMAGE,
    seesJobs: true,
    spec: { securityProfile: 'restricted', podTemplate: { spec: { containers: [{ name: 'runner', env }] } } },
  });

  expect(await pushed('3')).toBe(true);
});

// Its containers need control groups of version 2, which the kernel then gives to the pod: this computer may have
// version 1.
it('containerMode dind in a user namespace has a dockerd that answers and pulls, and root of the pod is nobody on the node', async () => {
  await enforce('privileged');

  const log = await ran('pull.yml', {
    mode: 'dind',
    image: RUNNER_WITH_CLIENT_IMAGE,
    seesJobs: true,
    spec: { podTemplate: { spec: { hostUsers: false } } },
  });

  expect(log).toContain(`pulled ${base}`);
  const [first, onNode = 0, count] = idsIn(log)?.split(' ').map(Number) ?? [];
  expect([first, count]).toEqual([0, 65_536]);
  expect(onNode).toBeGreaterThanOrEqual(65_536);
});
