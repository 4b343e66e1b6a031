/** What our two service accounts may do in Kubernetes, as data: access.ts makes roles of it, `doctor` asks the API server for it. */

/** One rule of a role. */
export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

/** In each namespace with runners. */
export const SIDECAR_RULES: readonly Rule[] = [
  { apiGroups: ['batch'], resources: ['jobs'], verbs: ['list'] },
  { apiGroups: [''], resources: ['pods'], verbs: ['list'] },
];

/** In each namespace with runners. */
export const SERVE_RULES: readonly Rule[] = [
  { apiGroups: ['gitea.bpg.pw'], resources: ['runnergroups'], verbs: ['list', 'watch'] },
  { apiGroups: ['gitea.bpg.pw'], resources: ['runnergroups/status'], verbs: ['patch'] },
  { apiGroups: ['batch'], resources: ['jobs'], verbs: ['list', 'watch'] },
  { apiGroups: [''], resources: ['pods'], verbs: ['list', 'watch'] },
  { apiGroups: [''], resources: ['events'], verbs: ['create'] },
];
