/** Reads what `doctor` judges. What cannot be read is no error here: it says why. */
import * as z from 'zod';
import { Failure } from '../../failure.ts';
import { Deadline } from '../../http/deadline.ts';
import { KubeClient } from '../../kubernetes/client.ts';
import type { RunnerGroupObject } from '../../kubernetes/resources.ts';
import { lookAndPlan } from '../../look/look-and-plan.ts';
import type { RunnerGroup } from '../../runnergroup/runner-group.ts';
import { type ClusterSource, JUDGED_PODS, LEASE, listObjects, sorted } from '../explain/cluster-source.ts';
import { lookAround, readObject, type ServeSeen, type UnservedGroup } from '../explain/where.ts';

/** An object as it stands in the cluster, or why it is not known. */
export type SeenOrNot<T> = { readonly value: T } | { readonly unread: string; readonly isMissing: boolean };

export interface Installation {
  readonly version: SeenOrNot<{ readonly major: string; readonly minor: string }>;
  readonly crd: SeenOrNot<Crd>;
  readonly repoServer: SeenOrNot<Deployment>;
  readonly serve: SeenOrNot<Deployment>;
  readonly lease: ServeSeen;
  readonly accounts: SeenOrNot<ConfigMap>;
  readonly rights: SeenOrNot<ConfigMap>;
  readonly applications: SeenOrNot<readonly Application[]>;
  readonly groups: readonly RunnerGroup[];
  readonly broken: readonly UnservedGroup[];
  /** Why the RunnerGroups cannot be read. */
  readonly groupsUnread?: string;
  readonly namespaces: ReadonlyMap<string, SeenOrNot<Namespace>>;
  /** Registration Secrets, by `namespace/name`. */
  readonly secrets: ReadonlyMap<string, SeenOrNot<Secret>>;
  /** Undefined is good. */
  readonly looks: ReadonlyMap<RunnerGroup, Failure | undefined>;
}

const Container = z.looseObject({ name: z.string(), image: z.string() });
const Deployment = z.looseObject({
  spec: z.looseObject({
    replicas: z.int().default(1),
    template: z.looseObject({ spec: z.looseObject({ containers: z.array(Container) }) }),
  }),
  status: z.looseObject({ readyReplicas: z.int().default(0) }).default({ readyReplicas: 0 }),
});
export type Deployment = z.output<typeof Deployment>;
const ConfigMap = z.looseObject({ data: z.record(z.string(), z.string()).default({}) });
export type ConfigMap = z.output<typeof ConfigMap>;
const Secret = z.looseObject({ data: z.record(z.string(), z.string()).default({}) });
export type Secret = z.output<typeof Secret>;
const Namespace = z.looseObject({
  metadata: z.looseObject({ labels: z.record(z.string(), z.string()).default({}) }),
});
export type Namespace = z.output<typeof Namespace>;
const Crd = z.looseObject({
  spec: z.looseObject({ versions: z.array(z.looseObject({ name: z.string(), schema: z.unknown() })) }),
});
export type Crd = z.output<typeof Crd>;
const Application = z.looseObject({
  metadata: z.looseObject({ name: z.string(), namespace: z.string() }),
  spec: z.looseObject({
    project: z.string().default('default'),
    destination: z.looseObject({ namespace: z.string().optional() }).default({}),
    source: z.looseObject({ plugin: z.looseObject({ name: z.string().optional() }).optional() }).optional(),
    syncPolicy: z
      .looseObject({
        automated: z
          .looseObject({
            prune: z.boolean().optional(),
            allowEmpty: z.boolean().optional(),
            selfHeal: z.boolean().optional(),
          })
          .optional(),
        syncOptions: z.array(z.string()).default([]),
      })
      .optional(),
    ignoreDifferences: z.array(z.looseObject({ kind: z.string() })).default([]),
  }),
  status: z
    .looseObject({
      conditions: z.array(z.looseObject({ type: z.string(), message: z.string() })).default([]),
    })
    .optional(),
});
export type Application = z.output<typeof Application>;

const LOOK = { includeBlocked: false, pods: JUDGED_PODS };
/** Groups that are asked for one by one; more would load Gitea. */
const MOST_GROUPS = 50;

/** Reads everything. @throws Failure when the API server cannot be reached at all. */
export async function readInstallation(
  { config, settings, namespaces }: ClusterSource,
  argocdNamespace: string,
): Promise<Installation> {
  const deadline = new Deadline(settings.timeoutMs);
  const client = new KubeClient(config, settings.onRequest);
  const read = <T>(what: string, path: string, shape: z.ZodType<T>) => readAs(client, deadline, what, path, shape);
  const inArgo = (kind: string, name: string): string =>
    `/${kind === 'deployments' ? 'apis/apps/v1' : 'api/v1'}/namespaces/${encodeURIComponent(argocdNamespace)}/${kind}/${name}`;
  try {
    // The first question alone: a server that cannot be reached is one error, not ten.
    const versionAnswer = await client.send({ what: 'ask the version of Kubernetes', path: '/version' }, deadline);
    const version = shaped(Version, versionAnswer.status === 200 ? parse(versionAnswer.text) : undefined);
    const { objects, unread } = await groupsOf(client, namespaces, deadline);
    const { groups, broken } = sorted(objects);
    const asked = groups.slice(0, MOST_GROUPS);
    const plane = { argocdNamespace, lease: LEASE, nowMs: settings.now() };
    const [crd, repoServer, serve, accounts, rights, applications, around] = await Promise.all([
      read(
        'read the CustomResourceDefinition',
        '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/runnergroups.gitea.bpg.pw',
        Crd,
      ),
      read('read the Deployment argocd-repo-server', inArgo('deployments', 'argocd-repo-server'), Deployment),
      read('read the Deployment gitea-runners', inArgo('deployments', 'gitea-runners'), Deployment),
      read('read the ConfigMap argocd-cm', inArgo('configmaps', 'argocd-cm'), ConfigMap),
      read('read the ConfigMap argocd-rbac-cm', inArgo('configmaps', 'argocd-rbac-cm'), ConfigMap),
      read(
        'list Applications',
        `/apis/argoproj.io/v1alpha1/namespaces/${encodeURIComponent(argocdNamespace)}/applications`,
        z.looseObject({ items: z.array(Application) }).transform(({ items }) => items),
      ),
      lookAround(client, [], plane, deadline),
    ]);
    const spaces = new Map<string, SeenOrNot<Namespace>>();
    const secrets = new Map<string, SeenOrNot<Secret>>();
    for (const { namespace, registrationToken } of asked) {
      const inNamespace = `/api/v1/namespaces/${encodeURIComponent(namespace)}`;
      if (!spaces.has(namespace))
        spaces.set(namespace, await read(`read the namespace ${namespace}`, inNamespace, Namespace));
      const called = `${namespace}/${registrationToken.name}`;
      if (secrets.has(called)) continue;
      const path = `${inNamespace}/secrets/${encodeURIComponent(registrationToken.name)}`;
      secrets.set(called, await read(`read the Secret ${called}`, path, Secret));
    }
    const looks = new Map<RunnerGroup, Failure | undefined>();
    for (const group of asked) looks.set(group, await failureOf(() => lookAndPlan([group], settings, LOOK)));
    return {
      version,
      crd,
      repoServer,
      serve,
      accounts,
      rights,
      applications,
      lease: around.serve,
      groups,
      broken,
      ...(unread !== undefined && { groupsUnread: unread }),
      namespaces: spaces,
      secrets,
      looks,
    };
  } finally {
    await client.close();
  }
}

const Version = z.looseObject({ major: z.string(), minor: z.string() });

async function groupsOf(
  ...source: Parameters<typeof listObjects>
): Promise<{ readonly objects: readonly RunnerGroupObject[]; readonly unread?: string }> {
  try {
    return { objects: await listObjects(...source) };
  } catch (error) {
    if (error instanceof Failure) return { objects: [], unread: `${error.code} ${error.message}` };
    throw error;
  }
}

async function failureOf(action: () => Promise<unknown>): Promise<Failure | undefined> {
  try {
    await action();
    return undefined;
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
}

async function readAs<T>(
  client: KubeClient,
  deadline: Deadline,
  what: string,
  path: string,
  shape: z.ZodType<T>,
): Promise<SeenOrNot<T>> {
  const answer = await readObject(client, what, path, deadline);
  if ('unread' in answer) return { unread: answer.unread, isMissing: answer.unread.includes('404') };
  return shaped(shape, answer.json);
}

function shaped<T>(shape: z.ZodType<T>, json: unknown): SeenOrNot<T> {
  const { data } = shape.safeParse(json);
  return data === undefined ? { unread: 'the answer has another form', isMissing: false } : { value: data };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
