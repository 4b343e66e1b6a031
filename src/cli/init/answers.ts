/** Collects the answers for `init`: from flags, from questions on a terminal, or from defaults. */
import { Failure } from '../../shared/failure.ts';
import type { Io } from '../../shared/io.ts';
import { printable } from '../../shared/printable.ts';
import { longName } from '../flags/flag.ts';
import { type FlagsOf, flagValue } from '../flags/flags.ts';
import type { SecretTool } from '../flags/readers.ts';

export interface Answers {
  readonly group: string;
  readonly namespace: string;
  readonly gitea: string;
  readonly scope: WhoseJobs;
  /** Cap, or the given string if it is not a number: then the RunnerGroup is not valid, and the error shows it. */
  readonly cap: number | string;
  readonly mode: string;
  /** Who registers the runners: `pod`, `serve`, or `bound` for `serve` and one repository each. */
  readonly registration: string;
  /** Git repository that Argo CD reads, and the folder of the RunnerGroups in it. */
  readonly git: string;
  readonly path: string;
  readonly secretTool: SecretTool;
  /** Name of the ClusterSecretStore, for External Secrets. */
  readonly secretStore: string;
  /** URL at which Gitea reaches `serve`. */
  readonly webhook: string;
}

/** Scope of the CI jobs, as `spec` has it. */
export type WhoseJobs =
  | { readonly scope: 'global' }
  | { readonly scope: 'org'; readonly org: string }
  | { readonly scope: 'user'; readonly user: string }
  | { readonly scope: 'repo'; readonly repo: string };

/** Asks a person. An empty answer is the default, if there is one. */
export type AskPerson = (question: string, byDefault: string | undefined) => Promise<string>;

const SCOPES = ['global', 'org', 'user', 'repo'] as const;
const SCOPE_RULE = '--scope must be global, org, user or repo';

/** Returns the fault of an answer. Undefined: none. */
type Rule = (answer: string) => string | undefined;

/** Returns all answers: from flags, from questions until `check` finds no fault, or defaults. @throws Failure exit 2 */
export async function answersOf(
  givenFlags: FlagsOf<'init'>,
  io: Io,
  ask: AskPerson | undefined,
  check: (answer: Partial<Answers>) => readonly string[],
): Promise<Answers> {
  const { choose, missing, need } = answering(givenFlags, io, ask);
  const valid =
    (name: 'gitea' | 'group' | 'mode' | 'registration' | 'git'): Rule =>
    (text) =>
      check({ [name]: text })[0];
  const scopeRule: Rule = (text) => (SCOPES.some((each) => each === text) ? undefined : SCOPE_RULE);
  const gitea = await need('gitea', QUESTIONS.gitea, valid('gitea'));
  const scope = await choose('scope', scopeRule);
  const ownerIs = scope === 'repo' ? 'Repository, owner/name' : `Name of the ${scope}`;
  const ownerRule: Rule = (text) => ownerProblem(scope, text) ?? check({ scope: toScope('init', scope, text) })[0];
  const owner =
    scope === 'global' ? (flagValue('owner', givenFlags, io) ?? '') : await need('owner', ownerIs, ownerRule);
  const group = await choose('groupName', valid('group'));
  const cap = await choose('cap', (text) => check({ cap: toCap(text) })[0]);
  const mode = await choose('containerMode', valid('mode'));
  const registration = await choose('registration', valid('registration'));
  const git = await need('git', QUESTIONS.git, valid('git'));
  const ofScope = scopeRule(scope) ?? (missing.includes('--owner') ? undefined : ownerProblem(scope, owner));
  const absent = missing.length > 0 ? `${missing.join(', ')} must be given, or answered on a terminal` : [];
  const faults = [absent, ofScope ?? []].flat();
  const given = { group, cap: toCap(cap), mode, registration, ...(gitea && { gitea }), ...(git && { git }) };
  if (faults.length > 0)
    throw initFailure(missing.length > 0 ? 'GR-INIT-01' : 'GR-INIT-02', [...faults, ...check(given)]);
  return {
    group,
    gitea,
    scope: toScope('init', scope, owner),
    cap: toCap(cap),
    mode,
    registration,
    git,
    namespace: flagValue('groupNamespace', givenFlags, io),
    path: flagValue('gitPath', givenFlags, io),
    secretTool: flagValue('secretTool', givenFlags, io),
    secretStore: flagValue('secretStore', givenFlags, io),
    webhook: flagValue('webhookUrl', givenFlags, io),
  };
}

export function initFailure(code: string, problems: readonly string[]): Failure {
  const lines = problems.map((each) => `\n  ${each}.`).join('');
  return new Failure(code, 2, problems.length > 1 ? `init:${lines}` : `init: ${problems[0]}.`);
}

const QUESTIONS = {
  gitea: 'URL of Gitea, as pods of the cluster reach it',
  scope: 'Whose CI jobs get runners: global, org, user or repo',
  groupName: 'Name of the RunnerGroup',
  cap: 'How many runners at most',
  containerMode: 'Docker in CI jobs: dind-rootless, dind, buildkit (image builds only) or host (no docker)',
  registration: 'Who registers runners: pod, serve, or bound (serve, each for one repository)',
  git: 'Git repository with the RunnerGroups, as Argo CD reaches it',
} as const;

/** Answers from a flag, else by a question until the rule finds no fault. `missing`: flags without an answer. */
function answering(givenFlags: FlagsOf<'init'>, io: Io, ask: AskPerson | undefined) {
  const missing: string[] = [];
  const answered = async (question: string, byDefault: string | undefined, wrongIn: Rule): Promise<string> => {
    for (;;) {
      const answer = (await ask?.(question, byDefault)) || byDefault || '';
      const problem = answer === '' ? 'an answer is needed' : wrongIn(answer);
      if (ask === undefined || problem === undefined) return answer;
      // A person who answers a question has not written a flag.
      io.err(`${printable(problem.replace(/^.*?--[a-z-]+ must /, 'It must '))}\n`);
    }
  };
  const need = async (name: 'gitea' | 'owner' | 'git', question: string, wrongIn: Rule): Promise<string> => {
    const answer = flagValue(name, givenFlags, io) || (await answered(question, undefined, wrongIn));
    if (answer === '') missing.push(longName(name));
    return answer;
  };
  const choose = async (name: Exclude<keyof typeof QUESTIONS, 'gitea' | 'git'>, wrongIn: Rule): Promise<string> => {
    const byDefault = String(flagValue(name, givenFlags, io));
    return givenFlags[name] === undefined ? answered(QUESTIONS[name], byDefault, wrongIn) : byDefault;
  };
  return { choose, missing, need };
}

const toCap = (text: string): number | string => (Number.isNaN(Number(text)) ? text : Number(text));

/** The owner of a repository belongs to its name, and a whole Gitea has none. */
function ownerProblem(scope: string, owner: string): string | undefined {
  if (scope === 'global' && owner !== '') return `for scope global --owner must be left out, not "${printable(owner)}"`;
  return scope === 'repo' && !owner.includes('/')
    ? `for scope repo --owner must be OWNER/NAME, not "${printable(owner)}"`
    : undefined;
}

/** @throws Failure exit 2 for another word, or an owner that does not go with it */
export function toScope(command: 'init' | 'import', word: string, owner: string): WhoseJobs {
  const scope = SCOPES.find((each) => each === word);
  const problem = scope === undefined ? SCOPE_RULE : ownerProblem(scope, owner);
  if (scope === undefined || problem !== undefined) throw new Failure('GR-INIT-02', 2, `${command}: ${problem}.`);
  return (scope === 'global' ? { scope } : { scope, [scope]: owner }) as WhoseJobs;
}
