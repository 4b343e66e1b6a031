/** The Gitea versions that the simulator can be, and the behaviour in which they differ. */

/** The next release after 1.27 is 28.0. Its `force-cancel` was read in the source after it was merged (#38756); it was never run here. */
export type GiteaVersion = '1.25.4' | '1.26.0' | '1.27.3' | '28.0.0';

/** Differences of one version from others. Each line was read in that version's source. */
export interface Traits {
  /** 1.27: `sort=id&order=asc|desc`, default id ascending (routers/api/v1/utils/sort.go). Before: parameters ignored, the database decides. */
  readonly ordersJobs: boolean;
  /** `X-Total-Count` and `Link` on jobs and runs lists, from 1.26 (#36521). Runner lists never have them. */
  readonly countHeaders: boolean;
  /**
   * Users who may list an org's jobs. `readable`: members, but only repositories whose Actions they may read (1.27,
   * shared/action.go).
   */
  readonly orgJobsFor: 'owners' | 'members' | 'readable';
  /** Users who may list a repository's jobs (routers/api/v1/api.go, addActionsRoutes). */
  readonly repoJobsFor: 'owners' | 'readers';
  /** `same-row`: id kept (services/actions/rerun.go, rerunWorkflowJob). `new-rows`: the whole run gets new ids (1.27, execRerunPlan). */
  readonly rerun: 'same-row' | 'new-rows';
  /** `run_attempt` grows when a runner claims the job (CreateTaskForRunner), or is fixed when the row is made (1.27). */
  readonly attemptGrowsAt: 'claim' | 'creation';
  /** `POST …/rerun` exists from 1.26. */
  readonly rerunEndpoint: boolean;
  /** `steps` of a job nobody claimed: `null` in 1.25, `[]` from 1.26 (#36603). */
  readonly unclaimedSteps: null | readonly [];
  /** Runner field, filter and PATCH `disabled`, from 1.26 (#36776). */
  readonly disabledRunners: boolean;
  /** 1.27: a running job that is cancelled becomes `cancelling` until its runner reports (#37275). */
  readonly cancelling: boolean;
  /** 28.0: `POST …/runs/{run}/force-cancel` ends all unfinished jobs of a run at once (#38756). */
  readonly forceCancel: boolean;
  /** 1.27: rows for calls of reusable workflows (#37478); they look `queued` but no runner gets them. */
  readonly callerRows: boolean;
  /** 1.27: a runner that loses the race for a job tries the next one. Before, it gets nothing and sleeps (#38200). */
  readonly loserTriesNext: boolean;
  /** Seconds between two writes of `last_online` and `last_active` (1.27, models/actions/runner.go); 0: every poll writes. */
  readonly onlineEvery: number;
  readonly activeEvery: number;
  /** 1.27: the runner list shows busy, then idle, then offline ones; before, only the last contact counts (FindRunnerOptions.ToOrders). */
  readonly ranksRunners: boolean;
  /** Text of HTTP 400 for an unknown status word, before the word. */
  readonly invalidStatus: string;
  /** Text of HTTP 401 for an unknown token. */
  readonly badToken: string;
  /** Up to 1.26 most HTTP 404s carry a third field, `errors` (services/context/api.go). */
  readonly notFoundErrors: boolean;
  /** 1.27: `public-only` tokens are refused on `/user/actions` and see public repositories only. */
  readonly enforcesPublicOnly: boolean;
  /** Job pages are named by run index and position (1.25) or by ids. */
  readonly htmlUrlBy: 'index' | 'id';
}

const V1_25: Traits = {
  ordersJobs: false,
  countHeaders: false,
  orgJobsFor: 'owners',
  repoJobsFor: 'owners',
  rerun: 'same-row',
  attemptGrowsAt: 'claim',
  rerunEndpoint: false,
  unclaimedSteps: null,
  disabledRunners: false,
  cancelling: false,
  forceCancel: false,
  callerRows: false,
  loserTriesNext: false,
  onlineEvery: 0,
  activeEvery: 0,
  ranksRunners: false,
  invalidStatus: 'Invalid status',
  badToken: 'user does not exist [uid: 0, name: ]',
  notFoundErrors: true,
  enforcesPublicOnly: false,
  htmlUrlBy: 'index',
};

const V1_26: Traits = {
  ...V1_25,
  countHeaders: true,
  orgJobsFor: 'members',
  repoJobsFor: 'readers',
  rerunEndpoint: true,
  unclaimedSteps: [],
  disabledRunners: true,
  badToken: 'invalid username, password or token',
  htmlUrlBy: 'id',
};

const V1_27: Traits = {
  ...V1_26,
  ordersJobs: true,
  orgJobsFor: 'readable',
  rerun: 'new-rows',
  attemptGrowsAt: 'creation',
  cancelling: true,
  callerRows: true,
  loserTriesNext: true,
  onlineEvery: 30,
  activeEvery: 5,
  ranksRunners: true,
  invalidStatus: 'invalid status',
  notFoundErrors: false,
  enforcesPublicOnly: true,
};

const V28: Traits = { ...V1_27, forceCancel: true };

/** The behaviour of a version. */
export function traitsOf(version: GiteaVersion): Traits {
  switch (version) {
    case '1.25.4':
      return V1_25;
    case '1.26.0':
      return V1_26;
    case '1.27.3':
      return V1_27;
    case '28.0.0':
      return V28;
    default: {
      const unknown: never = version;
      throw new Error(`no such Gitea version in the simulator: ${String(unknown)}`);
    }
  }
}
