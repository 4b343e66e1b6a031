/** Judges what stands in Argo CD: the account of `serve`, its rights, the Applications. Pure. */

import { APPLICATION_ANNOTATIONS, applicationSpec } from '../../shared/installed/application.ts';
import { ACCOUNT, PLUGIN } from '../../shared/installed/names.ts';
import { COMPARE_OPTIONS } from '../../shared/marks.ts';
import { bad, type DoctorFinding, good, unread } from './finding.ts';
import * as fixes from './fixes.ts';
import type { Installation } from './installation.ts';
import type { Application } from './shapes.ts';

export function account({ accounts }: Installation): DoctorFinding {
  const check = 'account in Argo CD';
  if ('unread' in accounts) return unread(check, accounts, fixes.NO_ARGOCD);
  const may = accounts.value.data[`accounts.${ACCOUNT}`];
  if (may === undefined) return bad(check, `argocd-cm has no accounts.${ACCOUNT}`, fixes.NEW_ACCOUNT);
  return may.split(',').some((word) => word.trim() === 'apiKey')
    ? good(check, may)
    : bad(check, `accounts.${ACCOUNT} is ${may}: without apiKey it can have no token`, fixes.NEW_ACCOUNT);
}

/** What the account must be allowed, on the Applications of its project. */
const NEEDED = ['get', 'sync'];

export function rights({ rights: read, applications: apps, argocdNamespace }: Installation): readonly DoctorFinding[] {
  const check = 'rights in Argo CD';
  if ('unread' in read) return [unread(check, read, fixes.NO_ARGOCD)];
  const lines = Object.entries(read.value.data)
    .filter(([key]) => /^policy\.(?:.*\.)?csv$/.test(key))
    .flatMap(([, text]) => text.split('\n'))
    .map((line) => line.split(',').map((word) => word.trim()));
  const ours = lines.filter(([kind, subject]) => kind === 'p' && subject === ACCOUNT);
  const allowed = ours.filter(([, , resource, , , effect]) => resource === 'applications' && effect === 'allow');
  const may = (action: string, object: string | undefined): boolean =>
    allowed.some(([, , , has, on = '']) => (has === action || has === '*') && (!object || covers(on, object)));
  const objects = 'value' in apps ? apps.value.filter(hasPlugin).map(objectOf) : [];
  const lacking = NEEDED.filter((action) => !may(action, undefined));
  if (lacking.length > 0)
    return [bad(check, `${ACCOUNT} may not ${lacking.join(' and ')} Applications`, fixes.NEW_RIGHTS)];
  const beyond = objects.filter((object) => NEEDED.some((action) => !may(action, object)));
  if (beyond.length > 0)
    return [
      bad(
        check,
        `${ACCOUNT} may not get and sync ${beyond.join(', ')} (PROJECT/NAME)`,
        `Put the Application into the project runners, or name its project in ${fixes.editRights(argocdNamespace)}`,
      ),
    ];
  const more = ours.filter(([, , resource, action = '']) => resource !== 'applications' || !NEEDED.includes(action));
  const roles = lines.filter(([kind, subject]) => kind === 'g' && subject === ACCOUNT);
  return more.length + roles.length === 0
    ? [good(check, 'get and sync of Applications, and nothing more')]
    : [
        bad(
          check,
          `${ACCOUNT} may do more than it needs: ${[...more, ...roles].map((words) => words.join(', ')).join('; ')}`,
          `Remove these lines: ${fixes.editRights(argocdNamespace)}`,
        ),
      ];
}

/** As the policy names an Application. */
const objectOf = ({ metadata, spec }: Application): string => `${spec.project}/${metadata.name}`;

/** Argo CD's glob: `*` stands for any text, slashes too. */
function covers(pattern: string, object: string): boolean {
  const parts = pattern.split('*').map((part) => part.replaceAll(/[\\^$.|?+()[\]{}]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`).test(object);
}

const hasPlugin = ({ spec }: Application): boolean => spec.source?.plugin?.name === PLUGIN;

export function applications({ applications: read, groups: all }: Installation): readonly DoctorFinding[] {
  const check = 'Application';
  if ('unread' in read) return [unread(check, read, fixes.NO_ARGOCD)];
  const ours = read.value.filter(hasPlugin);
  if (ours.length === 0) return [bad(check, `no Application has the plugin ${PLUGIN}`, fixes.STEP_3)];
  const namespaces = new Set(ours.map(({ spec }) => spec.destination.namespace));
  const alone = [...new Set(all.map(({ namespace }) => namespace))].filter((namespace) => !namespaces.has(namespace));
  return [
    ...ours.map(application),
    ...alone.map((namespace) =>
      bad(
        check,
        `none has the destination namespace ${namespace}, which has RunnerGroups`,
        `Make an Application for it: ${fixes.STEP_3}`,
      ),
    ),
  ];
}

function application({ metadata, spec, status }: Application): DoctorFinding {
  const check = `Application ${metadata.name}`;
  const { syncPolicy: wanted, ignoreDifferences } = applicationSpec({ repository: '', path: '', namespace: '' });
  const { automated, syncOptions = [] } = spec.syncPolicy ?? {};
  const compared = [metadata.annotations[COMPARE_OPTIONS] ?? []].flat().flatMap((text) => text.split(','));
  const { [COMPARE_OPTIONS]: option } = APPLICATION_ANNOTATIONS;
  const wrong = [
    ...(automated?.prune === true ? [] : ['automated.prune must be true']),
    ...(automated?.allowEmpty === true ? [] : ['automated.allowEmpty must be true']),
    ...(automated?.selfHeal === true ? ['automated.selfHeal must not be true'] : []),
    ...wanted.syncOptions.filter((option) => !syncOptions.includes(option)).map((option) => `${option} is missing`),
    ...(spec.ignoreDifferences.some(({ kind }) => kind === 'Job') ? [] : ['ignoreDifferences of Job /spec is missing']),
    ...(compared.some((text) => text.trim() === option) ? [] : [`annotation ${COMPARE_OPTIONS}: ${option} is missing`]),
  ];
  if (wrong.length > 0) {
    const keyOf = (option: string): string | undefined => option.split('=')[0];
    const ours = new Set(wanted.syncOptions.map(keyOf));
    const options = [...syncOptions.filter((option) => !ours.has(keyOf(option))), ...wanted.syncOptions];
    const ignored = spec.ignoreDifferences.some(({ kind }) => kind === 'Job') ? {} : { ignoreDifferences };
    // A merge patch removes what is null.
    const others = compared.filter((text) => !text.includes('ServerSideDiff='));
    const patch = {
      metadata: { annotations: { [COMPARE_OPTIONS]: [...others, option].join(',') } },
      spec: { syncPolicy: { automated: { ...wanted.automated, selfHeal: null }, syncOptions: options }, ...ignored },
    };
    return bad(
      check,
      wrong.join('; '),
      `kubectl -n ${metadata.namespace} patch application ${metadata.name} --type=merge -p '${JSON.stringify(patch)}'`,
    );
  }
  const error = status?.conditions.find(({ type }) => type.endsWith('Error'));
  if (error === undefined) return good(check, `project ${spec.project}`);
  const again = `then: argocd app get ${metadata.name} --hard-refresh`;
  return bad(
    check,
    `${error.type}: ${error.message}`,
    /could not find cmp-server plugin/.test(error.message)
      ? `The sidecar is not there or not ready: see above; ${again}`
      : `A code GR-… in it is in docs/errors.md; ${again}`,
  );
}
