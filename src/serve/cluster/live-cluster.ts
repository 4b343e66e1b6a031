/** The destination cluster as `serve` sees it: RunnerGroups, our Jobs and their pods. Watches keep it up to date. Reads only. */
import { setMaxListeners } from 'node:events';
import { LRUCache } from 'lru-cache';
import { judgeJob } from '../../clients/kubernetes/judge-job.ts';
import type { KubeApi } from '../../clients/kubernetes/kube-client.ts';
import {
  type EndToldBy,
  endToldBy,
  hasComeBack,
  jobKeyOf,
  jobOf,
  lossOf,
  podPlaces,
  podStep,
  type RunnerPlace,
} from '../../clients/kubernetes/kube-pods.ts';
import { countAlive, podsByJob } from '../../clients/kubernetes/observe-cluster.ts';
import {
  JOBS,
  type KubeJob,
  type KubePod,
  PODS,
  RUNNER_GROUPS,
  type RunnerGroupObject,
} from '../../clients/kubernetes/resources.ts';
import { type Watch, watchOf } from '../../clients/kubernetes/watch.ts';
import { policyDefaults } from '../../config/policy/defaults.ts';
import { withSizes } from '../../config/runnergroup/sizes.ts';
import type { GroupDefaults, InstallationPods } from '../../config/runnergroup/to-runner-group.ts';
import { groupOfObject, READ_ANNOTATIONS } from '../../plan/own-pod.ts';
import { defined } from '../../shared/defined.ts';
import type { Failure } from '../../shared/failure.ts';
import { groupBy, keepOnly, keyText } from '../../shared/keys.ts';
import { GROUP_NAME, LOOK_NOW, REGISTERED_AT, SHARDS, SUSPENDED, TRACKING_ID } from '../../shared/marks.ts';
import type { Tell } from '../planning/events.ts';
import { templateHashOf } from '../planning/reconcile.ts';
import type { LiveGroup, LiveRunner } from '../seen/live.ts';
import { CachedByKey, keepEqual, keepList, sameElements } from '../seen/unchanged.ts';

interface LiveClusterOptions {
  /** Namespaces to watch. Empty: all. */
  readonly namespaces: readonly string[];
  readonly images: InstallationPods;
  readonly policyFile?: string;
  readonly tell: Tell;
  readonly onChange: () => void;
}

interface Copies {
  /** The namespace of the copies. Undefined: all namespaces. */
  readonly namespace: string | undefined;
  readonly groups: Watch<RunnerGroupObject>;
  readonly jobs: Watch<KubeJob>;
  readonly pods: Watch<KubePod>;
}

const NO_PODS: readonly KubePod[] = [];
/** Ends of runners that are remembered. More losses at once wait for Gitea. */
export const MOST_ENDS = 1_000;

export type LiveCluster = ReturnType<typeof openLiveCluster>;

/** Opens the copies of the cluster. They fill once `run` is called. */
export function openLiveCluster(client: KubeApi, options: LiveClusterOptions) {
  const { images, policyFile } = options;
  const liveGroups = new CachedByKey<LiveGroup>();
  const readings = groupReadings(images);
  const liveRunners = new CachedByKey<LiveRunner>();
  const ends = new RunnerEnds();
  const all = copiesOf(client, options, liveGroups, liveRunners, ends);
  const defaultsNow = policyFile === undefined ? () => undefined : policyDefaults(policyFile);
  let defaults: GroupDefaults | undefined;
  let readable: readonly Copies[] = [];
  /** Pods by `<namespace>/<name>` of their Job, of whatever uid. */
  let podsOfJob: ReadonlyMap<string, readonly KubePod[]> = new Map();

  const setAside = (): void => {
    const before = readable;
    readable = keepList(before, readableOf(all));
    if (readable === before) return;
    liveGroups.hasChanged();
    liveRunners.hasChanged();
  };

  const groupObjects = (): readonly RunnerGroupObject[] => {
    setAside();
    const before = defaults;
    defaults = defaultsNow();
    if (defaults !== before) liveGroups.hasChanged();
    return readable.flatMap(({ groups }) => [...groups.objects.values()]);
  };

  return {
    /** Reads changed groups and their pods before `groups` is called. Others have turns in between, because a large group takes long. */
    readAhead: async (): Promise<void> => {
      for (const object of groupObjects()) {
        const before = readings.lastOf(object);
        const reading = readings.read(object, defaults);
        if (reading === before) continue;
        await client.clock.nextTurn();
        if ('problem' in reading) continue;
        for (const size of withSizes(reading.group)) {
          templateHashOf(size);
          await client.clock.nextTurn();
        }
      }
    },

    /**
     * True while every copy follows the API server: only then does the absence of an object prove anything. A namespace
     * that refuses is left out with all its objects, unless all refuse: it may be deleted, and its rights with it.
     */
    get fresh(): boolean {
      const followed = readableOf(all);
      return followed.length > 0 && followed.flatMap(watchesOf).every(({ isFresh }) => isFresh());
    },

    /** False for a namespace that refuses: its objects are not known. */
    mayRead: (namespace: string): boolean => !all.some((copies) => copies.namespace === namespace && isRefused(copies)),

    get isPartial(): boolean {
      return all.some(isRefused);
    },

    run: async (signal: AbortSignal): Promise<void> => {
      // Each watch adds two listeners. Node would print a warning with two namespaces.
      setMaxListeners(0, signal);
      await Promise.all(all.flatMap(watchesOf).map((watch) => watch.run(signal)));
    },

    /** Returns all groups by namespace and name. The list is the same object until a group changes. */
    groups: (): readonly LiveGroup[] => {
      const objects = groupObjects();
      return liveGroups.all(() => {
        const items = objects.map((object) => {
          const key = keyText(object.metadata);
          const reading = readings.read(object, defaults);
          return { key, inputs: [reading, ...marksOf(object)], make: (): LiveGroup => ({ key, object, ...reading }) };
        });
        readings.keepOnly(new Set(items.map(({ key }) => key)));
        return items.sort((a, b) => (a.key < b.key ? -1 : 1));
      });
    },

    /** The newest `status` of a group: `groups` keep an object while only its status changes. @param key `<namespace>/<name>` */
    statusOf: (key: string): unknown => all.map(({ groups }) => groups.objects.get(key)).find((found) => found)?.status,

    /** True if a Job of this name had a pod at the last call of `runners`. A Job may go before its pod. @param key `<namespace>/<name>` */
    hasPod: (key: string): boolean => podsOfJob.has(key),

    /** True if another pod has the name (`isNameTaken`), by the pods at the last call of `runners`. @param key `<namespace>/<name>` */
    hasOtherPod: (key: string, uid: string): boolean => isNameTaken(podsOfJob.get(key), uid),

    /** Returns who reported the end of this runner. Undefined: nobody. @param key `<namespace>/<name>` */
    endToldBy: (key: string): EndToldBy | undefined => ends.toldBy(key, podsOfJob.get(key)),

    /** Pods that may still work, at the last call of `runners`. */
    podsAlive: () => countAlive([...podsOfJob.values()].flat()),

    /** Returns the place of each runner by `<namespace>/<runner>`. Each call makes a new map. */
    podPlaces: (): ReadonlyMap<string, RunnerPlace> =>
      podPlaces(readable.flatMap(({ pods }) => [...pods.objects.values()])),

    runners: (): readonly LiveRunner[] => {
      setAside();
      return liveRunners.all(() => {
        const pods = readable.flatMap((copies) => [...copies.pods.objects.values()]);
        const podsOf = podsByJob(pods);
        podsOfJob = groupBy(pods, jobKeyOf);
        // A pod may be in a list without an event of the watch.
        for (const pod of pods) ends.note(pod);
        const jobs = readable.flatMap((copies) => [...copies.jobs.objects.values()]);
        return jobs.map((job) => {
          const pods = podsOf.get(job.metadata.uid) ?? NO_PODS;
          // Most events change only fields that this program does not read: then the former object stays.
          const make = (before: LiveRunner | undefined) => keepEqual(before, judgeRunner(job, pods));
          return { key: keyText(job.metadata), inputs: [job, ...pods], make };
        });
      });
    },
  };
}

/** Watches all namespaces. A change is told, and the caches make again what they have made of the changed objects. */
function copiesOf(
  client: KubeApi,
  { namespaces, onChange, tell }: LiveClusterOptions,
  liveGroups: CachedByKey<LiveGroup>,
  liveRunners: CachedByKey<LiveRunner>,
  ends: RunnerEnds,
): readonly Copies[] {
  const tellOf = (cache: { readonly hasChanged: () => void }) => ({
    onFailure: (failure: Failure) => tell({ is: 'cluster-failed', failure }),
    onChange: () => {
      cache.hasChanged();
      onChange();
    },
  });
  const ofJobs = {
    ...tellOf(liveRunners),
    onObject: ({ metadata: { uid, namespace, name } }: KubeJob) =>
      tell({ is: 'runner-seen', uid, namespace, name, step: 'job' }),
  };
  const ofPods = {
    ...tellOf(liveRunners),
    onObject: (pod: KubePod) => {
      ends.note(pod);
      const { uid, name } = jobOf(pod) ?? {};
      const { namespace } = pod.metadata;
      if (uid && name) tell({ is: 'runner-seen', uid, namespace, name, step: podStep(pod) });
    },
  };
  return (namespaces.length > 0 ? namespaces : [undefined]).map((namespace) => ({
    namespace,
    groups: watchOf(client, RUNNER_GROUPS, namespace, tellOf(liveGroups)),
    jobs: watchOf(client, JOBS, namespace, ofJobs),
    pods: watchOf(client, PODS, namespace, ofPods),
  }));
}

/** Parses RunnerGroups, and each one again only when its inputs have changed. */
function groupReadings(images: InstallationPods) {
  type Known = Readonly<{ inputs: readonly unknown[]; reading: ReturnType<typeof groupOfObject> }>;
  const known = new Map<string, Known>();
  return {
    lastOf: ({ metadata }: RunnerGroupObject) => known.get(keyText(metadata))?.reading,
    read: (object: RunnerGroupObject, defaults: GroupDefaults | undefined) => {
      const key = keyText(object.metadata);
      const inputs = inputsOf(object, defaults);
      const last = known.get(key);
      if (last && sameElements(last.inputs, inputs)) return last.reading;
      const reading = groupOfObject(object, images, defaults);
      known.set(key, { inputs, reading });
      return reading;
    },
    keepOnly: (keys: ReadonlySet<string>) => keepOnly(known, keys),
  };
}

/** What parsing reads of an object. The generation stays while only the status or metadata change. */
function inputsOf(object: RunnerGroupObject, defaults: GroupDefaults | undefined): readonly unknown[] {
  const { annotations, generation, labels, uid } = object.metadata;
  const read = READ_ANNOTATIONS.map((name) => annotations?.[name]);
  return [uid, generation || object, defaults, JSON.stringify(labels), ...read];
}

/** What others read of an object. It may change often, so the object is not parsed again for it. */
function marksOf({ metadata: { annotations } }: RunnerGroupObject): readonly unknown[] {
  return [TRACKING_ID, SUSPENDED, LOOK_NOW, SHARDS].map((name) => annotations?.[name]);
}

/** Remembers ends of runners. A pod is deleted a moment after its end; the question for it comes seconds later. */
export class RunnerEnds {
  /** Reported ends by `<namespace>/<name>` of the Job. */
  readonly #told = new LRUCache<string, EndToldBy>({ max: MOST_ENDS });

  /** Notes the state of a pod from a watch or a list. */
  note(pod: KubePod): void {
    const key = jobKeyOf(pod);
    if (key === undefined) return;
    this.#told.set(key, endToldBy(pod));
  }

  /** Returns who reported the end. @param pods all existing pods of the Job. Undefined: none exists, so the last known one counts */
  toldBy(key: string, pods: readonly KubePod[] | undefined): EndToldBy | undefined {
    if (!pods) return this.#told.get(key);
    const senders = pods.map(endToldBy);
    if (senders.includes(undefined)) return undefined;
    return senders.includes('others') ? 'others' : 'kubelet';
  }
}

/** True while a pod of another Job of the name may live. @param uid of the Job that has the name now; empty: there is none */
export function isNameTaken(pods: readonly KubePod[] = NO_PODS, uid: string): boolean {
  return pods.some((pod) => jobOf(pod)?.uid !== uid && endToldBy(pod) !== 'kubelet');
}

function watchesOf({ groups, jobs, pods }: Copies) {
  return [groups, jobs, pods] as const;
}

function readableOf(all: readonly Copies[]): readonly Copies[] {
  return all.filter((copies) => !isRefused(copies));
}

function isRefused(copies: Copies): boolean {
  return watchesOf(copies).some(({ isRefused }) => isRefused());
}

function judgeRunner(job: KubeJob, pods: readonly KubePod[]): LiveRunner {
  const annotations = job.metadata.annotations ?? {};
  const groupName = job.metadata.labels?.[GROUP_NAME];
  const loss = lossOf(job, pods);
  return {
    job: judgeJob(job, pods),
    annotations,
    ...(annotations[REGISTERED_AT] && { uid: job.metadata.uid }),
    ...defined({ groupName, loss, isBack: hasComeBack(pods) || undefined }),
  };
}
