/** Flags of `explain` and `validate` alone: what is shown, and how. A part of the table in flags.ts. */
import type { Flag } from './flag.ts';
import { readNamespace } from './readers.ts';
import { readOutput, readRepository, readStates } from './report-readers.ts';

export const REPORT_FLAGS = {
  output: {
    of: ['explain', 'validate'],
    short: '-o',
    value: 'FORMAT',
    defaultNote: 'text',
    help: 'explain: json or wide; validate: json, sarif or github',
    more: '`wide` adds columns and cuts nothing. `sarif` is SARIF 2.1.0. `github` prints annotations, which Gitea Actions shows too.',
    choices: { explain: ['json', 'wide'], validate: ['json', 'sarif', 'github'] },
    read: readOutput,
  },
  namespace: {
    of: ['explain', 'doctor', 'extend'],
    short: '-n',
    value: 'NAMESPACE',
    defaultNote: "that of the kubeconfig's context",
    help: 'namespace of the RunnerGroups that are read from the cluster; in extend, of the runner',
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
    help: 'only jobs in these states, comma-separated: stuck, held, starting, blocked, running',
    read: readStates,
  },
  watch: {
    of: ['explain'],
    short: '-w',
    help: 'look again every 5 s until Ctrl-C',
  },
  exitCode: {
    of: ['explain'],
    help: 'end with exit code 4 when a job that is shown is stuck',
  },
  strict: {
    of: ['validate'],
    help: 'warnings are errors: they end with exit code 2',
  },
} as const satisfies Readonly<Record<string, Flag>>;
