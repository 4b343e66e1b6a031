/** Judges an installation. Pure. In the order in which it is made. */
import packageJson from '../../../package.json' with { type: 'json' };
import type { Failure } from '../../failure.ts';
import { applicationSpec } from '../../install/application.ts';
import { ACCOUNT, NAME, PLUGIN } from '../../install/names.ts';
import { specFieldsOf } from '../../runnergroup/crd.ts';
import type { RunnerGroup } from '../../runnergroup/runner-group.ts';
import { bad, type DoctorFinding, good, unknown } from './finding.ts';
import type { Application, Deployment, Installation, Namespace, Secret, SeenOrNot } from './installation.ts';

const STEP_1 = 'Repeat step 1 of docs/install.md';
const STEP_2 = 'Repeat step 2 of docs/install.md';
/** Native sidecars (containerMode dind) are on since this one. */
const OLDEST_MINOR = 29;

export function judge(seen: Installation): readonly DoctorFinding[] {
  return [
    kubernetes(seen),
    crd(seen),
    sidecar(seen.repoServer),
    serve(seen.serve),
    leader(seen),
    account(seen),
    ...rights(seen),
    ...applications(seen),
    ...groups(seen),
  ];
}

/** What cannot be read is bad only if it is not there. */
function unread(
  check: string,
  read: { readonly unread: string; readonly isMissing: boolean },
  fix: string,
): DoctorFinding {
  return read.isMissing ? bad(check, read.unread, fix) : unknown(check, read.unread);
}

function kubernetes({ version }: Installation): DoctorFinding {
  if ('unread' in version) return unknown('Kubernetes', version.unread);
  const { major, minor } = version.value;
  const text = `${major}.${minor}`;
  const isOld = Number.parseInt(major, 10) === 1 && Number.parseInt(minor, 10) < OLDEST_MINOR;
  return isOld
    ? unknown(
        'Kubernetes',
        `${text}: containerMode dind needs 1.${OLDEST_MINOR}`,
        'Upgrade, or use dind-rootless or host',
      )
    : good('Kubernetes', text);
}

function crd({ crd: read }: Installation): DoctorFinding {
  const check = 'CustomResourceDefinition';
  if ('unread' in read) return unread(check, read, STEP_1);
  const there = new Set(read.value.spec.versions.flatMap(({ schema }) => specFieldsOf(schema)));
  const lacking = specFieldsOf().filter((field) => !there.has(field));
  return lacking.length === 0
    ? good(check, `has the fields of ${packageJson.version}`)
    : bad(
        check,
        `is older than this program: it lacks ${lacking.join(', ')}`,
        'kubectl apply --server-side -f install/crd.yaml',
      );
}

function sidecar(read: SeenOrNot<Deployment>): DoctorFinding {
  const check = 'sidecar in argocd-repo-server';
  if ('unread' in read) return unread(check, read, 'Install Argo CD first, or give --argocd-namespace');
  const found = read.value.spec.template.spec.containers.find(({ name }) => name === NAME);
  if (!found) return bad(check, `there is no container ${NAME}`, `${STEP_1}, with --field-manager=${NAME}`);
  return running(check, read.value, found.image);
}

function serve(read: SeenOrNot<Deployment>): DoctorFinding {
  const check = 'serve';
  if ('unread' in read) return unread(check, read, STEP_1);
  return running(check, read.value, read.value.spec.template.spec.containers[0]?.image ?? '');
}

function running(check: string, { spec, status }: Deployment, image: string): DoctorFinding {
  const text = `${status.readyReplicas} of ${spec.replicas} ready, ${image}`;
  return status.readyReplicas > 0
    ? good(check, text)
    : bad(check, text, 'kubectl -n argocd describe pods shows why; a missing Secret or image is the usual cause');
}

function leader({ lease }: Installation): DoctorFinding {
  const check = 'leader of serve';
  if ('unread' in lease) return unknown(check, lease.unread, 'kubectl -n argocd logs deployment/gitea-runners');
  return lease.isLate
    ? bad(check, `${lease.leader} does not renew its Lease`, 'kubectl -n argocd logs deployment/gitea-runners')
    : good(check, lease.leader);
}

function account({ accounts }: Installation): DoctorFinding {
  const check = 'account in Argo CD';
  if ('unread' in accounts) return unread(check, accounts, 'Install Argo CD first, or give --argocd-namespace');
  const may = accounts.value.data[`accounts.${ACCOUNT}`];
  if (may === undefined) return bad(check, `argocd-cm has no accounts.${ACCOUNT}`, STEP_1);
  return may.split(',').some((word) => word.trim() === 'apiKey')
    ? good(check, may)
    : bad(check, `accounts.${ACCOUNT} is ${may}`, 'It must have apiKey, or it can have no token');
}

/** What the account must be allowed, on the Applications of its project. */
const NEEDED = ['get', 'sync'];

function rights({ rights: read }: Installation): readonly DoctorFinding[] {
  const check = 'rights in Argo CD';
  if ('unread' in read) return [unread(check, read, STEP_1)];
  const lines = Object.entries(read.value.data)
    .filter(([key]) => /^policy\.(?:.*\.)?csv$/.test(key))
    .flatMap(([, text]) => text.split('\n'))
    .map((line) => line.split(',').map((word) => word.trim()));
  const ours = lines.filter(([kind, subject]) => kind === 'p' && subject === ACCOUNT);
  const allowed = ours.filter(([, , resource, , , effect]) => resource === 'applications' && effect === 'allow');
  const lacking = NEEDED.filter((action) => !allowed.some(([, , , has]) => has === action || has === '*'));
  if (lacking.length > 0) return [bad(check, `${ACCOUNT} may not ${lacking.join(' and ')} Applications`, STEP_1)];
  const more = ours.filter(([, , resource, action = '']) => resource !== 'applications' || !NEEDED.includes(action));
  const roles = lines.filter(([kind, subject]) => kind === 'g' && subject === ACCOUNT);
  return more.length + roles.length === 0
    ? [good(check, 'get and sync of Applications, and nothing more')]
    : [
        bad(
          check,
          `${ACCOUNT} may do more than it needs: ${[...more, ...roles].map((words) => words.join(', ')).join('; ')}`,
          'Remove these lines from argocd-rbac-cm',
        ),
      ];
}

function applications({ applications: read, groups: all }: Installation): readonly DoctorFinding[] {
  const check = 'Application';
  if ('unread' in read) return [unread(check, read, 'Install Argo CD first, or give --argocd-namespace')];
  const ours = read.value.filter(({ spec }) => spec.source?.plugin?.name === PLUGIN);
  if (ours.length === 0) return [bad(check, `no Application has the plugin ${PLUGIN}`, 'Do step 3 of docs/install.md')];
  const namespaces = new Set(ours.map(({ spec }) => spec.destination.namespace));
  const alone = [...new Set(all.map(({ namespace }) => namespace))].filter((namespace) => !namespaces.has(namespace));
  return [
    ...ours.map(application),
    ...alone.map((namespace) =>
      bad(
        check,
        `none has the destination namespace ${namespace}, which has RunnerGroups`,
        'Make an Application for it',
      ),
    ),
  ];
}

function application({ metadata, spec, status }: Application): DoctorFinding {
  const check = `Application ${metadata.name}`;
  const wanted = applicationSpec({ repository: '', path: '', namespace: '' }).syncPolicy;
  const { automated, syncOptions = [] } = spec.syncPolicy ?? {};
  const wrong = [
    ...(automated?.prune === true ? [] : ['automated.prune must be true']),
    ...(automated?.allowEmpty === true ? [] : ['automated.allowEmpty must be true']),
    ...(automated?.selfHeal === true ? ['automated.selfHeal must not be true'] : []),
    ...wanted.syncOptions.filter((option) => !syncOptions.includes(option)).map((option) => `${option} is missing`),
    ...(spec.ignoreDifferences.some(({ kind }) => kind === 'Job') ? [] : ['ignoreDifferences of Job /spec is missing']),
  ];
  if (wrong.length > 0)
    return bad(check, wrong.join('; '), 'Take its syncPolicy from install/examples/application.yaml');
  const error = status?.conditions.find(({ type }) => type.endsWith('Error'));
  return error === undefined
    ? good(check, `project ${spec.project}`)
    : bad(
        check,
        `${error.type}: ${error.message}`,
        'The code GR-… in it is in docs/errors.md; argocd app get shows more',
      );
}

function groups(seen: Installation): readonly DoctorFinding[] {
  if (seen.groupsUnread !== undefined) return [unknown('RunnerGroups', seen.groupsUnread)];
  if (seen.groups.length + seen.broken.length === 0)
    return [unknown('RunnerGroups', 'there is none', 'Commit one: gitea-runners init writes it')];
  return [
    ...seen.broken.map(({ group, problem }) =>
      bad(`RunnerGroup ${group}`, problem, 'Correct it in git: gitea-runners validate shows the place'),
    ),
    ...seen.groups.flatMap((group) => groupFindings(group, seen)),
  ];
}

function groupFindings(group: RunnerGroup, { namespaces, secrets, looks }: Installation): readonly DoctorFinding[] {
  const check = `RunnerGroup ${group.namespace}/${group.name}`;
  const { name } = group.registrationToken;
  const space = namespaces.get(group.namespace);
  const secret = secrets.get(`${group.namespace}/${name}`);
  const failure = looks.get(group);
  return [
    ...(looks.has(group) ? [look(check, group, failure)] : []),
    ...(space ? [podSecurity(check, group, space)] : []),
    ...(secret ? [registration(check, group, name, secret)] : []),
  ];
}

/** Its Secret cannot be read in the namespace of the group: the cluster refused, or it is not there. */
const TOKEN_UNREAD: ReadonlySet<string> = new Set(['GR-TOKEN-09', 'GR-TOKEN-10']);

function look(check: string, { giteaUrl }: RunnerGroup, failure: Failure | undefined): DoctorFinding {
  if (!failure) return good(check, `${giteaUrl} answers, and shows its jobs and runners`);
  const { code, message } = failure;
  return TOKEN_UNREAD.has(code)
    ? unknown(
        check,
        `${giteaUrl} was not asked: the API token is not in the namespace of the group, or you may not read it`,
        'If it is mounted into sidecar and serve, give it to doctor as GITEA_TOKEN, with GITEA_URL',
      )
    : bad(check, `${code} ${message}`, 'docs/errors.md has the code');
}

const LEVELS = ['restricted', 'baseline', 'privileged'];

function podSecurity(check: string, group: RunnerGroup, read: SeenOrNot<Namespace>): DoctorFinding {
  if ('unread' in read) return unread(check, read, `kubectl create namespace ${group.namespace}`);
  const enforced = read.value.metadata.labels['pod-security.kubernetes.io/enforce'] ?? 'privileged';
  const needed = group.containerMode === 'host' ? (group.securityProfile ?? 'restricted') : 'privileged';
  return LEVELS.indexOf(enforced) >= LEVELS.indexOf(needed)
    ? good(check, `namespace ${group.namespace} admits its pods (${enforced})`)
    : bad(
        check,
        `namespace ${group.namespace} enforces ${enforced}, and its pods need ${needed}`,
        'Change the label pod-security.kubernetes.io/enforce, or use containerMode: host',
      );
}

function registration(
  check: string,
  { registrationToken, giteaUrl }: RunnerGroup,
  name: string,
  read: SeenOrNot<Secret>,
): DoctorFinding {
  if ('unread' in read)
    return read.isMissing
      ? bad(check, `Secret ${name}: ${read.unread}`, STEP_2)
      : unknown(check, `Secret ${name}: ${read.unread}`);
  const text = (key: string): string => Buffer.from(read.value.data[key] ?? '', 'base64').toString();
  if (text(registrationToken.key).trim() === '')
    return bad(check, `Secret ${name} has no value at ${registrationToken.key}`, STEP_2);
  const url = text('url');
  return url === '' || url.replace(/\/+$/, '') === giteaUrl.replace(/\/+$/, '')
    ? good(check, `Secret ${name} has a registration token`)
    : bad(check, `Secret ${name} is for another Gitea than ${giteaUrl}`, 'Correct its key url, or gitea.url');
}
