// Made from src/config/runnergroup/group-schema.ts by "npm run generated".
import { ApiObject, type ApiObjectMetadata, type App, type Chart } from 'cdk8s';
import type { Construct } from 'constructs';

/** All fields with their rules: docs/runnergroup.md. */
export interface RunnerGroupSpec {
  /** The group serves the CI jobs of the whole Gitea, of an organization, of a user, or of a repository. */
  readonly scope: "global" | "org" | "user" | "repo";
  /** Organization. Required for scope `org`; for scope `repo` the owner of the repository. */
  readonly org?: string;
  /** User. Required for scope `user`; for scope `repo` the owner of the repository. */
  readonly user?: string;
  /** Repository. Required for scope `repo`: its name, with `org` or `user` as its owner, or `owner/name`. */
  readonly repo?: string;
  /** The Gitea that is asked for jobs and that runners register at. Required (or `giteaURL`). */
  readonly gitea?: {
    /** Base URL of Gitea: http or https, without credentials, query or fragment. A sub-path is kept, a slash at the end is not. */
    readonly url: string;
  };
  /** Older spelling of `gitea.url`. */
  readonly giteaURL?: string;
  /** Labels of the runners, each `name`, `name:host` or `name:docker://image`. A group serves the jobs whose `runs-on` names are all among its labels. Default: `[]`. */
  readonly labels?: readonly (string)[];
  /** Labels that are added to `labels`; `false` adds none. A label in `labels` with the same name wins. */
  readonly defaultLabels?: readonly (string)[] | false;
  /** Cap: at most this many runners at a time. A runner is over when its CI job is; its pod may take a moment more to end. 0 starts none. Required, or `maxWorkers`, or `priorityTiers`. */
  readonly maxActiveRunners?: number;
  /** Another name for `maxActiveRunners`. */
  readonly maxWorkers?: number;
  /** PriorityClasses of the runners: the first `threshold` runners get the first class, the runners up to the second threshold the second class. Thresholds ascend; the last one is the cap. A runner keeps its class while it lives. Not with `--cluster off`, because it needs the Jobs of the cluster. Default: `[]`. */
  readonly priorityTiers?: readonly ({
    /** A PriorityClass of the cluster. */
    readonly priorityClassName: string;
    /** The runners of the group up to this number have the class, unless an earlier tier has given them theirs. */
    readonly threshold: number;
  })[];
  /** Warm pool: so many idle, registered runners are kept for jobs to come, as far as the cap has slots. At most the cap. They ask Gitea for work every second. `setupCommand` is done before they wait. Default: `0`. */
  readonly minIdleRunners?: number;
  /** The warm pool by the calendar: at these hours it has so many runners, if that is more than `minIdleRunners`. Default: `[]`. */
  readonly idleSchedule?: readonly ({
    /** So many idle runners are kept at this time. At most the cap. */
    readonly runners: number;
    /** First minute, e.g. `07:00`. */
    readonly from: string;
    /** The minute after the last one, e.g. `19:00`. Up to `from`: it is on the next day. */
    readonly to: string;
    /** Days on which it begins. Default: `["Mon","Tue","Wed","Thu","Fri"]`. */
    readonly days?: readonly ("Mon" | "Tue" | "Wed" | "Thu" | "Fri" | "Sat" | "Sun")[];
    /** IANA name, e.g. `Europe/Berlin`. Summer time is followed. Default: `"UTC"`. */
    readonly timeZone?: string;
  })[];
  /** The warm pool by demand: it has as many runners as CI jobs of the group came in the last minutes, if that is more than `minIdleRunners` and `idleSchedule` say. Counted are the jobs that each look shows: queued, running, and the newest ended ones. */
  readonly idleDemand?: {
    /** How far back CI jobs are counted. Default: `10`. */
    readonly minutes?: number;
    /** At most so many idle runners. At most the cap. */
    readonly most: number;
  };
  /** Sizes of runners, under one cap ([how](limits.md)). A job chooses one by its name: `runs-on: [ubuntu-latest, large]`. All other jobs get runners without a size, and so does `minIdleRunners`. Not with `priorityTiers`. Not with `--cluster off`, because it needs the Jobs of the cluster. Default: `[]`. */
  readonly sizes?: readonly ({
    /** The label of `runs-on` that chooses the size. */
    readonly name: string;
    /** Slots that one runner of this size takes under the cap and under each of `limits`. Default: `1`. */
    readonly weight?: number;
    /** In place of `spec.resources`. */
    readonly resources?: {
      /** Requests of the runner container. Default: `{}`. */
      readonly requests?: { readonly [key: string]: string | number };
      /** Limits of the runner container. Default: `{}`. */
      readonly limits?: { readonly [key: string]: string | number };
    };
    /** In place of `spec.podTemplate`. */
    readonly podTemplate?: { readonly [key: string]: unknown };
  })[];
  /** Limits besides the cap ([how](limits.md)). Each has `name`, `per`, or both, or `branches` with or without `per`. At most five have `per` or `branches`. Not with `--cluster off`, because it needs the Jobs of the cluster. Default: `[]`. */
  readonly limits?: readonly ({
    /** Groups that name it share it. The lowest `max` of them counts. */
    readonly name?: string;
    /** At most this many slots at a time. A runner takes 1, or the `weight` of its size. */
    readonly max: number;
    /** Each repository, or each organization or user, has so many slots. Unless runners are bound (`registration.for: repository`), a job that waits for such a limit also stops the other jobs of its group ([how](limits.md#limits-per-repository)). Not with `minIdleRunners`, `idleSchedule` and `idleDemand`, and with `fairness: per-repository` only for bound runners. */
    readonly per?: "repository" | "organization";
    /** Only jobs of these branches count: names, or patterns with one star ([how](limits.md#limits-per-branch)). As with `per`, a job that waits for the limit stops the other jobs of its group, or with bound runners the jobs of its repository. Not with `name` and idle runners, and with `fairness: per-repository` only for bound runners. */
    readonly branches?: readonly (string)[];
  })[];
  /** Kueue's LocalQueue, in the group's namespace: each Job is made suspended, and starts when Kueue admits it ([how](recipes/kueue.md)). A living Job keeps its queue. Not with `--cluster off`, because it needs the Jobs of the cluster. */
  readonly queue?: string;
  /** True: the group's name is one of its runners' labels, so `runs-on: NAME` works. Its jobs run in the image of the first label with a docker image, or on the host if there is none. A label of that name in `labels` or `defaultLabels` wins. Default: `false`. */
  readonly groupLabel?: boolean;
  /** The program that registers the runners, and their level ([how](registration.md)). `by: serve` not with `--cluster off`, because it needs the Jobs of the cluster. */
  readonly registration?: {
    /** `pod`: an init container of each runner has `registrationToken`. `serve`: `serve` registers each runner before its pod starts, and the pod gets the credentials of this one runner. The API token then needs the right to write to its scope. Default: `"pod"`. */
    readonly by?: "pod" | "serve";
    /** `scope`: Gitea gives a runner any job of the scope. `repository`: a runner is bound to the repository of the job that it was made for. Needs `by: serve`. Default: `"scope"`. */
    readonly for?: "scope" | "repository";
  };
  /** Only jobs of these repositories are served: names, or patterns with one `*`. One with `/` is for `owner/name`, one without for the name. Case does not matter. Needs `registration: {by: serve, for: repository}`. Default: `[]`. */
  readonly repositories?: readonly (string)[];
  /** Repositories whose jobs come first, as patterns of `repositories`. A repository comes where the first pattern that fits it stands; one that fits none comes last. Needs `registration: {by: serve, for: repository}`. Default: `[]`. */
  readonly order?: readonly (string)[];
  /** Secret with the registration token of the scope, in the group's namespace. Only the init container that registers a runner gets it: no CI job can read it, and the generator never does. Not used with `registration.by: serve`. */
  readonly registrationToken?: {
    /** The Secret and its key. */
    readonly secretRef?: {
      /** Name of the Secret, in the namespace of the RunnerGroup. */
      readonly name: string;
      /** Key in the Secret. */
      readonly key: string;
    };
    /** Older spelling of `secretRef.name`. */
    readonly name?: string;
    /** Older spelling of `secretRef.key`. */
    readonly key?: string;
  };
  /** Secret with the API token that lists jobs and runners. Read by the generator only, never in a pod: mounted as files, or with `--secrets api` in the namespace of the RunnerGroup. */
  readonly authToken: {
    /** The Secret and its key. */
    readonly secretRef?: {
      /** Name of the Secret, in the namespace of the RunnerGroup. */
      readonly name: string;
      /** Key in the Secret. */
      readonly key: string;
    };
    /** Older spelling of `secretRef.name`. */
    readonly name?: string;
    /** Older spelling of `secretRef.key`. */
    readonly key?: string;
  };
  /** True: no new runners. Busy ones finish; the jobs of the group may go to another group that covers them. Default: `false`. */
  readonly suspend?: boolean;
  /** False: the CI jobs of the group have no traces, also if the installation traces ([tracing](tracing.md)). Default: `true`. */
  readonly tracing?: boolean;
  /** True: jobs with an empty `runs-on` are served too. Gitea gives them to any runner; since 1.27 such a row can also be a reusable-workflow caller, which no runner ever gets. Not with containerMode `host`. Default: `false`. */
  readonly acceptUnlabelledJobs?: boolean;
  /** Order of the jobs when the cap holds some back. `oldest`: the jobs that have been ready longest. `per-repository`: round robin, the repository with the fewest busy runners first. Gitea gives a runner the oldest job that it covers. So the turns are exact only for bound runners (`registration.for: repository`). Default: `"oldest"`. */
  readonly fairness?: "oldest" | "per-repository";
  /** Image of the runner container, and of the init container that registers it, best with its digest (`name:tag@sha256:…`). One of your own must keep the entry point and user of the default one, and have `sh` and `timeout`. */
  readonly image?: string;
  /** Source of docker. `dind-rootless`: rootless dockerd in the runner container. `dind`: dockerd as a native sidecar (Kubernetes 1.29+). `buildkit`: no docker, but rootless BuildKit as a native sidecar for `docker buildx build`. `host`: no docker, CI steps run in the runner container. Default: `"dind-rootless"`. */
  readonly containerMode?: "dind-rootless" | "dind" | "buildkit" | "host";
  /** A PodTemplateSpec that is merged over the runner's pod as `kubectl apply` merges: `metadata` (labels, annotations) and `spec`. Container `runner` is the runner's. Reserved are among others `restartPolicy`, `automountServiceAccountToken`, `hostNetwork`, `hostPID`, `hostIPC`, `nodeName`, `terminationGracePeriodSeconds`, the labels and variables of the runner, its folders, and the init container `register`. */
  readonly podTemplate?: { readonly [key: string]: unknown };
  /** Pod Security Standard that the final pod must meet. Each violation is an error that names rule and field. */
  readonly securityProfile?: "privileged" | "baseline" | "restricted";
  /** Kubernetes `requests` and `limits` of the runner container. */
  readonly resources?: {
    /** Requests of the runner container. Default: `{}`. */
    readonly requests?: { readonly [key: string]: string | number };
    /** Limits of the runner container. Default: `{}`. */
    readonly limits?: { readonly [key: string]: string | number };
  };
  /** Proxy of runner pods: registration, CI jobs, image pulls. The generator and `serve` do not use it: they have the installation's proxy. */
  readonly proxy?: {
    /** Proxy for http URLs: `http_proxy` and `HTTP_PROXY`. Without user and password. */
    readonly http?: string;
    /** Proxy for https URLs: `https_proxy` and `HTTPS_PROXY`. Without user and password. */
    readonly https?: string;
    /** Hosts, IP addresses and CIDR blocks that need no proxy: `no_proxy` and `NO_PROXY`. `localhost`, the pod itself, `.svc` and `.cluster.local` are always added. */
    readonly noProxy?: readonly (string)[];
    /** Secret with the login of the proxy: keys `username` and `password`, percent-encoded as in a URL. CI jobs can read it. */
    readonly secretRef?: {
      /** Name of the Secret, in the namespace of the RunnerGroup. Not one with a token of Gitea. */
      readonly name: string;
    };
  };
  /** CA certificates that runner pods trust besides the public ones. The generator and `serve` do not trust them: they have the CA of the installation. */
  readonly caBundle?: {
    /** The ConfigMap and its key. */
    readonly configMapRef: {
      /** Name of the ConfigMap, in the namespace of the RunnerGroup. */
      readonly name: string;
      /** Key whose value is PEM: one certificate or more. */
      readonly key: string;
    };
  };
  /** Merged over the runner's own `config.yaml`, with its sections and keys. A key that the runner does not know, or that another field sets, is an error. Keys that came after runner 1.0.8 need `image`. At most 16 KiB, and nothing secret: it stands in the Job. `container` does not go with containerMode `host`. Of the mounts in `container.options` the runner keeps those that `container.valid_volumes` lists. */
  readonly runnerConfig?: {
    readonly log?: {
      readonly level?: "trace" | "debug" | "info" | "warn" | "warning" | "error" | "fatal" | "panic";
      readonly job?: {
        readonly dir?: string;
        readonly retention?: string;
        readonly max_size?: string;
      };
    };
    readonly runner?: {
      readonly envs?: { readonly [key: string]: string };
      readonly env_file?: string;
      readonly fetch_timeout?: string;
      readonly fetch_interval?: string;
      readonly fetch_interval_max?: string;
      readonly workdir_cleanup_age?: string;
      readonly idle_cleanup_interval?: string;
      readonly log_report_interval?: string;
      readonly log_report_max_latency?: string;
      readonly log_report_batch_size?: number;
      readonly state_report_interval?: string;
      readonly github_mirror?: string;
      readonly allocate_pty?: boolean;
      readonly action_shallow_clone?: boolean;
      readonly set_act_env?: boolean;
      readonly patch_actions?: boolean;
      readonly default_image?: string;
      readonly tool_cache_mode?: "none" | "shared";
      readonly post_task_script?: string;
      readonly post_task_script_timeout?: string;
      readonly hooks?: {
        readonly job_started?: string;
        readonly job_completed?: string;
      };
    };
    readonly cache?: {
      readonly enabled?: boolean;
      readonly dir?: string;
      readonly host?: string;
      readonly port?: number;
      readonly offline_mode?: boolean;
      readonly v2?: boolean;
      readonly retention?: string;
      readonly repo_size_limit?: string;
      readonly size_limit?: string;
      readonly sweep_interval?: string;
    };
    readonly container?: {
      readonly network?: string;
      readonly privileged?: boolean;
      readonly options?: string;
      readonly workdir_parent?: string;
      readonly valid_volumes?: readonly (string)[];
      readonly docker_host?: "-";
      readonly force_pull?: boolean;
      readonly force_rebuild?: boolean;
      readonly bind_workdir?: boolean;
      readonly network_create_options?: {
        readonly enable_ipv4?: boolean;
        readonly enable_ipv6?: boolean;
      };
      readonly service_ready_timeout?: string;
    };
    readonly host?: {
      readonly workdir_parent?: string;
    };
    readonly metrics?: {
      readonly enabled?: boolean;
      readonly addr?: string;
      readonly readiness_grace?: string;
    };
    readonly health_check?: {
      readonly enabled?: boolean;
      readonly min_free_disk_space_mb?: number;
      readonly script?: string;
      readonly interval?: string;
      readonly timeout?: string;
    };
  };
  /** A shared `gitea-runner cache-server`, so that `actions/cache` works between runners. Each repository sees its own entries only. */
  readonly cache?: {
    /** Base URL of the cache server. */
    readonly url: string;
    /** The secret that the cache server shares with its runners. */
    readonly secretRef: {
      /** Name of the Secret, in the namespace of the RunnerGroup. */
      readonly name: string;
      /** Key in the Secret. */
      readonly key: string;
    };
  };
  /** Receivers of a message when a CI job on a runner of the group ends, at most 10: Slack channels and webhooks. The tokens are in the configuration of `serve` ([how](notifications.md)). */
  readonly notify?: readonly ({
    /** A Slack channel. */
    readonly slack?: {
      /** Channel, e.g. `#ci`, or its id. The app must be a member of it. */
      readonly channel: string;
    };
    /** A plain webhook. */
    readonly webhook?: {
      /** Address that gets a POST with JSON. It must begin with a prefix that `serve` allows (`--notify-urls`). */
      readonly url: string;
    };
    /** Which CI jobs: those that failed, those that succeeded, or all, cancelled ones too. Default: `"failure"`. */
    readonly on?: "failure" | "success" | "always";
  })[];
  /** When a CI job has waited so long, `serve` says why in a commit status, and again when the job has its runner ([how](serve.md#why-a-job-waits-beside-its-commit)). The API token then needs `write:repository`. 0: it says nothing. Default: `0`. */
  readonly commitStatusAfterSeconds?: number;
  /** Command and its arguments, at most 16,384 characters, run before the runner registers: in an init container `setup`, with the runner's image, in `/data`. The runner finds there what it leaves. It has no registration token. Its time counts towards `spawnTimeoutSeconds`; if it fails, the runner has failed (`kubectl logs -c setup`). Default: `[]`. */
  readonly setupCommand?: readonly (string)[];
  /** How long a runner whose CI job failed stays, so that people can enter its pod ([how](debugging.md)). It takes a slot under the cap meanwhile. `gitea-runners extend` makes it stay longer, at most 24 hours after the failure. 0: it ends at once. Not with `--cluster off`, because it needs the Jobs of the cluster. Default: `0`. */
  readonly keepFailedSeconds?: number;
  /** How long a runner may take to register. After that its job gets another runner, which may take twice as long. Without live Jobs the other starting runners of the group get more time, too, until one registers. A pod that is starting in Kubernetes has 12 times as long. It is also the highest age of a runner that no job needs while CI goes on. Default: `300`. */
  readonly spawnTimeoutSeconds?: number;
  /** How long a pod that cannot start (no node has room, its image cannot be pulled, a quota refuses it) keeps its slot while other jobs of the group wait for it. Then one of these jobs gets the slot. At least `spawnTimeoutSeconds`. It needs the Jobs of the cluster. */
  readonly pendingDeadlineSeconds?: number;
  /** Longest life of a runner, waiting included; also the runner's own time limit for a CI job. Greater than `gracefulStopSeconds`. Gitea's `ENDLESS_TASK_TIMEOUT` (3 h) ends CI jobs on its own. Default: `21600`. */
  readonly activeDeadlineSeconds?: number;
  /** How long a finished Job and its pod stay for a look at them. Default: `600`. */
  readonly ttlSecondsAfterFinished?: number;
  /** How often a run may be re-run because a runner was lost: its pod was evicted, preempted, deleted or OOM-killed, or its node is gone. `serve` asks Gitea (1.26 or newer) to re-run the CI job. Re-runs by people count, too. 0: never. The API token then needs scope `write:repository`. Default: `0`. */
  readonly maxEvictionRetries?: number;
  /** How long `serve` waits after Gitea shows that a lost CI job has ended, before it asks for the re-run. Default: `5`. */
  readonly evictionRetryDelaySeconds?: number;
  /** How long a stopped runner may finish its CI job: sets the pod's termination grace (30 s more). A CI job that takes longer is killed with its pod, and Gitea shows it as failed. The default is as long as Gitea lets a CI job run. An idle runner stops at once. */
  readonly gracefulStopSeconds?: number;
}

export interface RunnerGroupProps {
  readonly metadata?: ApiObjectMetadata;
  readonly spec: RunnerGroupSpec;
}

/** A RunnerGroup. The constructor throws with every problem, in the words of `gitea-runners validate`. */
export declare class RunnerGroup extends ApiObject {
  constructor(scope: Construct, id: string, props: RunnerGroupProps);
}

/** The app that `generate` and `cdk8s synth` run, as a platform's own app gets it: every chart is made, nothing is written (docs/platform.md). */
export interface RunnersApp extends App {
  /** One per RunnerGroup, and one per size of it. */
  readonly groupCharts: readonly RunnerGroupChart[];
}

export interface RunnerGroupChart extends Chart {
  readonly group: {
    readonly namespace: string;
    readonly name: string;
    readonly containerMode: RunnerGroupSpec["containerMode"];
    readonly size?: { readonly name: string };
  };
  /** What the Jobs of its runners are made of: all but name, labels and annotations of one runner. */
  readonly job: ApiObject;
}
