/** What is shown of an answer or a report, and how it is printed. A part of the table in flags.ts. */
import type { CommandName, Flag } from './flag.ts';
import { readNamespace } from './readers.ts';
import { readRepository, readStates } from './report-readers.ts';

/** What each command prints beside text for people. */
export const OUTPUTS = {
  explain: ['json', 'wide'],
  validate: ['json', 'sarif', 'github'],
  sweep: ['json'],
  doctor: ['json'],
  version: ['json'],
} as const satisfies Readonly<Partial<Record<CommandName, readonly string[]>>>;

export const REPORT_FLAGS = {
  output: {
    of: ['explain', 'validate', 'sweep', 'doctor', 'version'],
    short: '-o',
    value: 'FORMAT',
    defaultNote: 'text',
    help: 'how to print: json; explain also wide; validate also sarif or github',
    helpIn: {
      explain: 'how to print: json or wide',
      validate: 'how to print: json, sarif or github',
      sweep: 'how to print: json',
      doctor: 'how to print: json',
      version: 'how to print: json',
    },
    more: '`wide` adds columns and cuts nothing. `sarif` is SARIF 2.1.0. `github` prints annotations, which Gitea Actions shows too. The variable counts for the commands that have its format.',
    choices: OUTPUTS,
  },
  namespace: {
    of: ['explain', 'doctor', 'extend'],
    short: '-n',
    value: 'NAMESPACE',
    defaultNote: "that of the kubeconfig's context",
    help: 'namespace of the RunnerGroups that are read from the cluster; in extend, of the runner',
    helpIn: {
      explain: 'namespace of the RunnerGroups that are read from the cluster',
      doctor: 'namespace of the RunnerGroups that are read from the cluster',
      extend: 'namespace of the runner',
    },
    read: readNamespace,
  },
  allNamespaces: {
    of: ['explain', 'doctor'],
    short: '-A',
    help: 'read the RunnerGroups of all namespaces from the cluster',
  },
  group: {
    of: ['explain'],
    value: 'NAME',
    defaultNote: 'all',
    help: 'only this RunnerGroup, as NAME or NAMESPACE/NAME',
  },
  repository: {
    of: ['explain'],
    value: 'OWNER/NAME',
    defaultNote: 'all',
    help: 'only jobs of this repository',
    read: readRepository,
  },
  state: {
    of: ['explain'],
    value: 'LIST',
    defaultNote: 'all',
    help: 'only jobs in these states, comma-separated: unserved, held, starting, blocked, running',
    read: readStates,
  },
  watch: {
    of: ['explain'],
    short: '-w',
    help: 'look again every 5 s until Ctrl-C',
  },
  exitCode: {
    of: ['explain'],
    help: 'end with exit code 4 when a job that is shown is unserved',
  },
  strict: {
    of: ['validate'],
    help: 'warnings are errors: they end with exit code 2',
  },
} as const satisfies Readonly<Record<string, Flag>>;
