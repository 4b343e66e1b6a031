/** What `init` must know, from flags, from questions on a terminal, or from defaults. */
import { Failure } from '../../failure.ts';
import { longName } from '../flags/flag.ts';
import { type FlagName, type FlagsOf, flagValue } from '../flags/flags.ts';
import type { SecretTool } from '../flags/init-flags.ts';
import type { Io } from '../io.ts';

export interface Answers {
  readonly group: string;
  readonly namespace: string;
  readonly gitea: string;
  readonly scope: WhoseJobs;
  readonly cap: number;
  readonly mode: string;
  /** The git repository that Argo CD reads, and the folder of the RunnerGroups in it. */
  readonly git: string;
  readonly path: string;
  readonly secretTool: SecretTool;
  /** Name of the ClusterSecretStore, for External Secrets. */
  readonly secretStore: string;
  /** Where Gitea reaches `serve`. */
  readonly webhook: string;
}

/** Whose CI jobs get runners, as `spec` has it. */
export type WhoseJobs =
  | { readonly scope: 'global' }
  | { readonly scope: 'org'; readonly org: string }
  | { readonly scope: 'user'; readonly user: string }
  | { readonly scope: 'repo'; readonly repo: string };

/** Asks a person. An empty answer is the default, if there is one. */
export type AskPerson = (question: string, byDefault: string | undefined) => Promise<string>;

type Given = FlagsOf<'init'>;

/**
 * All answers. What no flag says and has no default is asked; without a terminal it is missing.
 * @throws Failure exit 2 that names everything that is missing
 */
export async function answersOf(given: Given, io: Io, ask: AskPerson | undefined): Promise<Answers> {
  const missing: string[] = [];
  const need = async (name: 'gitea' | 'owner' | 'git', question: string): Promise<string> => {
    const known = flagValue(name, given, io) || (await ask?.(question, undefined));
    if (!known) missing.push(longName(name));
    return known ?? '';
  };
  const choose = async (name: 'groupName' | 'scope' | 'cap' | 'containerMode', question: string): Promise<string> => {
    const byDefault = String(flagValue(name, given, io));
    return ask === undefined || isGiven(name, given) ? byDefault : (await ask(question, byDefault)) || byDefault;
  };

  const gitea = await need('gitea', 'URL of Gitea, as pods of the cluster reach it');
  const scope = await choose('scope', 'Whose CI jobs get runners: global, org, user or repo');
  const owner =
    scope === 'global' ? '' : await need('owner', scope === 'repo' ? 'Repository, owner/name' : `Name of the ${scope}`);
  const group = await choose('groupName', 'Name of the RunnerGroup');
  const cap = await choose('cap', 'How many runners at most');
  const mode = await choose('containerMode', 'Docker in CI jobs: dind-rootless, dind or host (no docker)');
  const git = await need('git', 'Git repository with the RunnerGroups, as Argo CD reaches it');
  if (missing.length > 0)
    throw new Failure('GR-INIT-01', 2, `init: ${missing.join(', ')} must be given, or answered on a terminal.`);
  return {
    group,
    gitea,
    scope: toScope(scope, owner),
    cap: Number(cap),
    mode,
    git,
    namespace: flagValue('groupNamespace', given, io),
    path: flagValue('gitPath', given, io),
    secretTool: flagValue('secretTool', given, io),
    secretStore: flagValue('secretStore', given, io),
    webhook: flagValue('webhookUrl', given, io),
  };
}

function isGiven(name: FlagName, given: Given): boolean {
  return (given as Readonly<Record<string, unknown>>)[name] !== undefined;
}

/** @throws Failure exit 2 for another word */
export function toScope(scope: string, owner: string): WhoseJobs {
  switch (scope) {
    case 'global':
      return { scope };
    case 'org':
      return { scope, org: owner };
    case 'user':
      return { scope, user: owner };
    case 'repo':
      return { scope, repo: owner };
    default:
      throw new Failure('GR-INIT-02', 2, 'init: the scope must be global, org, user or repo.');
  }
}
