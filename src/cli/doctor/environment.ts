/** Judges the variables of the sidecar and of `serve`. Pure. */
import { nearestName } from '../../config/runnergroup/words.ts';
import { Failure } from '../../shared/failure.ts';
import { NAME, SETTINGS, TRACKING_SETTING } from '../../shared/installed/installed-names.ts';
import { longName, variableOf } from '../flags/flag.ts';
import { FLAGS, type FlagName, flagsOf, flagValue, PATH } from '../flags/flags.ts';
import { bad, good, type Judgements, unknown } from '../reading/finding.ts';
import type { DeployedContainer } from '../reading/reads.ts';
import type { Installation } from './installation.ts';

const PREFIX = 'GITEA_RUNNERS_';
const withoutPrefix = (name: string): string => name.slice(PREFIX.length);
const WITHOUT_FLAG = ['INSTANCE', 'KUBERNETES_DIR', 'PASS_WORKLOADS', withoutPrefix(TRACKING_SETTING)];
const KNOWN = [...[...Object.keys(FLAGS).map(variableOf), PATH.variable].map(withoutPrefix), ...WITHOUT_FLAG];
/** Settings that decide the plan: both parts need the same values. */
const PLANNING = ['secrets', 'policy', 'runnerImage', 'runnerImageRootless', 'dockerImage', 'buildkitImage', 'app'];
const SHARED = [...PLANNING.map(variableOf), TRACKING_SETTING, `${PREFIX}INSTANCE`];

type Variables = ReadonlyMap<string, string | undefined>;

/** Our two containers. Undefined: not readable, or missing. */
export function containersOf({ repoServer, serve }: Pick<Installation, 'repoServer' | 'serve'>) {
  const of = (read: Installation['serve']) => ('value' in read ? read.value.spec.template.spec.containers : []);
  return { sidecar: of(repoServer).find(({ name }) => name === NAME), serve: of(serve)[0] };
}

/** Variables of the container itself and of `SETTINGS`. One without a value has it from another place. */
function variablesOf({ env, envFrom }: DeployedContainer, { settings }: Installation): Variables {
  const isMapped = 'value' in settings && envFrom.some(({ configMapRef }) => configMapRef?.name === SETTINGS);
  const mapped = isMapped ? Object.entries(settings.value.data) : [];
  return new Map([...mapped, ...env.map(({ name, value }) => [name, value] as const)]);
}

export function environment(installation: Installation): Judgements {
  const { argocdNamespace, settings } = installation;
  if ('unread' in settings && !settings.isMissing) return unknown(`ConfigMap ${SETTINGS}: ${settings.unread}`);
  const containers = containersOf(installation);
  if (!containers.sidecar || !containers.serve) return [];
  const [sidecar, serve] = [variablesOf(containers.sidecar, installation), variablesOf(containers.serve, installation)];
  const ours = [...sidecar.keys(), ...serve.keys()].filter((name) => name.startsWith(PREFIX)).map(withoutPrefix);
  const misspelt = ours.flatMap((name) => {
    const near = nearestName(name, KNOWN);
    return KNOWN.includes(name) ? [] : `nothing reads ${PREFIX}${name}${near ? `: ${PREFIX}${near} may be meant` : ''}`;
  });
  const refused = [...refusals('generate', sidecar), ...refusals('serve', serve)];
  const lacking = 'value' in settings ? missing(serve, containers.serve) : [];
  const faults = new Set([...misspelt, ...refused, ...lacking, ...differences(sidecar, serve)]);
  const fix = `Correct it, and restart both Deployments: kubectl -n ${argocdNamespace} edit configmap ${SETTINGS}`;
  return faults.size === 0 ? good('known variables, and the same plans') : [...faults].map((text) => bad(text, fix));
}

/** Returns what a part says of its variables when it refuses to start. */
function refusals(command: 'generate' | 'serve', variables: Variables): readonly string[] {
  const env = Object.fromEntries(variables);
  return flagsOf(command).flatMap(([name]) => {
    try {
      flagValue(name as FlagName, {}, { env });
      return [];
    } catch (error) {
      if (error instanceof Failure) return [`${command} does not start: ${error.message.replace(/\.$/, '')}`];
      throw error;
    }
  });
}

/** If the page is on, `serve` does not start without these. */
const OF_PAGE = ['pageUrl', 'pageGitea', 'pageClientId'] as const;

function missing(variables: Variables, { args, command }: DeployedContainer): readonly string[] {
  const words = [...command, ...args].map((word) => word.split('=')[0]);
  const isGiven = (name: FlagName): boolean =>
    words.includes(longName(name)) || (variables.has(variableOf(name)) && variables.get(variableOf(name)) !== '');
  const needed = ['argocdUrl', ...(isGiven('pageListen') ? OF_PAGE : [])] as const;
  return needed.flatMap((name) => (isGiven(name) ? [] : `serve does not start: ${variableOf(name)} is missing`));
}

function differences(sidecar: Variables, serve: Variables): readonly string[] {
  return SHARED.flatMap((name) => {
    const [one, other] = [sidecar, serve].map((all) => (all.has(name) ? all.get(name) : ''));
    if (one === undefined || other === undefined || one === other) return [];
    return `${name} is "${one}" for the sidecar and "${other}" for serve: they plan differently`;
  });
}
