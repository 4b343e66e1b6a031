/** Findings of `doctor`: how a check judges what was read, and the remedies that several checks name. */
import type { Failure, FailureKind } from '../../shared/failure.ts';
import { IMAGE, manual, NAME } from '../../shared/installed/installed-names.ts';
import type { SeenOrNot } from './read-object.ts';
import type { Deployment } from './reads.ts';

/** Remedies that `explain` has, too, send its readers to `doctor`. */
export const HERE = { DOCTOR: 'another line here', NODES: 'another line here' };

export interface DoctorFinding {
  readonly check: string;
  /** `unknown`: it may not be read, or it is not there yet and need not be. */
  readonly is: 'good' | 'bad' | 'unknown';
  readonly text: string;
  /** Remedy. Always present for a bad finding. */
  readonly fix?: string | undefined;
}

/** Returns the first of these checks that is bad. A check may have a finding for each object: `Application runners`. */
export function badAbove(above: readonly DoctorFinding[], checks: readonly string[]): string | undefined {
  return above.find(({ check, is }) => is === 'bad' && checks.some((name) => check.startsWith(name)))?.check;
}

export const followsFrom = (check: string): string => `It follows from ${check}, which is bad above: mend that first`;

/** A finding; without `check` it has the name of the check that answers it. */
export type Judgement = Omit<DoctorFinding, 'check'> & Partial<Pick<DoctorFinding, 'check'>>;
export type Judgements = Judgement | readonly Judgement[];

export const good = (text: string): Judgement => ({ is: 'good', text });
export const bad = (text: string, fix: string): Judgement => ({ is: 'bad', text, fix });
export const unknown = (text: string, fix?: string): Judgement => ({ is: 'unknown', text, fix });

/** Adds the name of the check to its judgements. A judgement with its own name keeps it. */
export function withCheckName(check: string, judgements: Judgements): readonly DoctorFinding[] {
  return [judgements].flat().map((each) => ({ check, ...each }));
}

/** Judges an object. An object that cannot be read is bad only if it does not exist. */
export function judgeRead<T>(read: SeenOrNot<T>, fix: string, judge: (value: T) => Judgements): Judgements {
  if ('value' in read) return judge(read.value);
  return read.isMissing ? bad(read.unread, fix) : unknown(read.unread);
}

/** Adds the name of the object to the reason why it cannot be read. */
export function readAs<T>(what: string, read: SeenOrNot<T>): SeenOrNot<T> {
  return 'unread' in read ? { ...read, unread: `${what}: ${read.unread}` } : read;
}

/** Adds parts to objects of Argo CD and leaves the rest alone. */
const APPLY = `kubectl apply --server-side --field-manager=${NAME}`;

const INSTALL = manual('install.md#install-three-steps');
export const STEP_1 = `Repeat step 1 of ${INSTALL} (with Helm: helm upgrade): sed "s|${IMAGE}|$IMAGE|" install/install.yaml | ${APPLY} -f -`;
export const STEP_2 = `Repeat step 2 of ${INSTALL}, which makes it`;
export const STEP_3 = `Do step 3 of ${INSTALL}: kubectl apply -f install/examples/project.yaml -f install/examples/application.yaml, with your repository in them`;
export const API_TOKEN = `Make a token in Gitea and repeat step 1 of ${INSTALL} with it: the Secret gets the keys token and url`;
export const AS_ADMINISTRATOR = 'Run this again with --kubeconfig of a cluster administrator';
/** Remedies by kind of failure. A new token helps only if the token is refused. */
const BY_KIND: Readonly<Record<FailureKind, string>> = {
  unauthorized: `Follow the message above. A new token goes into the Secret by step 1 of ${INSTALL}`,
  forbidden: API_TOKEN,
  'user-refused': 'Follow the message above. The scopes of the token are good',
  'token-unusable': `Follow the message above. How the Secret gets its keys token and url: step 1 of ${INSTALL}`,
  'token-unseen': API_TOKEN,
  'rate-limited': 'Gitea is busy: wait, and look at its load',
  'told-to-wait': 'Gitea is busy: wait, and look at its load',
  'server-error': 'Gitea fails, or a proxy before it: read their logs. The token is not the cause',
  timeout: 'Gitea is slow: try again, and look at its load. The token is not the cause',
  'too-long': 'Check the URL: Gitea gives shorter answers. The token is not the cause',
  unreachable: 'Gitea cannot be reached from here. The token is not the cause',
  untrusted: 'Follow the message above. The token is not the cause',
  redirected: 'Follow the message above. The token is not the cause',
  'not-found': 'Correct the address, the owner or the repository that the message names',
  cluster: 'The API server of Kubernetes does not answer well: try again, and look at its load',
  'cluster-forbidden': AS_ADMINISTRATOR,
  policy: 'Follow the message above',
  other: 'Follow the message above',
};
export const remedyOfFailure = ({ kind }: Failure): string => BY_KIND[kind];

/** The message says what to do for a Secret of another name. */
export const MOUNT = `Correct authToken in git. If its Secret is gitea-api, which the manual mounts: repeat step 1 of ${INSTALL}`;
export const NEW_CRD = `${APPLY} -f install/crd.yaml`;
export const NEW_ACCOUNT = `${APPLY} -f install/argocd-cm.yaml`;
export const NEW_RIGHTS = `${APPLY} -f install/argocd-rbac-cm.yaml`;
export const NEW_OWN = `sed "s|${IMAGE}|$IMAGE|" install/gitea-runners.yaml | ${APPLY} -f - (with Helm: helm upgrade)`;
export const NO_ARGOCD = 'Install Argo CD first, or give --argocd-namespace';

/** The chart and the operators of Argo CD may put a prefix before its names. */
export function noRepoServer(deployments: SeenOrNot<readonly Deployment[]>, argocdNamespace: string): string {
  const all = 'value' in deployments ? deployments.value : [];
  const otherDeployment = all.find(({ metadata }) => metadata.labels['app.kubernetes.io/component'] === 'repo-server');
  if (!otherDeployment) return NO_ARGOCD;
  return `In namespace ${argocdNamespace} it has the name ${otherDeployment.metadata.name}, and only argocd-repo-server is known here. With Argo CD's chart: set fullnameOverride: argocd`;
}

export const newBindings = (namespace: string): string =>
  `sed "s/: runners$/: ${namespace}/" install/runners.yaml | ${APPLY} -f - (its label of Pod Security, too: see ${INSTALL})`;

/** The right to create the Secrets of runners that `serve` registers. */
export const newHandOver = (namespace: string): string =>
  `sed "s/: runners$/: ${namespace}/" install/runner-credentials.yaml | ${APPLY} -f - (with Helm: runnerCredentials)`;

export const describePods = (argocdNamespace: string, deployment: string): string =>
  `Their Events and their log say why: kubectl -n ${argocdNamespace} describe pods, and logs deployment/${deployment}`;

export const lastLog = (argocdNamespace: string, deployment: string, container: string): string =>
  `Its log says why: kubectl -n ${argocdNamespace} logs deployment/${deployment} -c ${container} --previous`;

/** Remedy for a Gitea that this machine does not reach. */
export const fromWithin = (argocdNamespace: string): string =>
  `From inside the cluster: kubectl -n ${argocdNamespace} exec deploy/${NAME} -- gitea-runners explain`;
