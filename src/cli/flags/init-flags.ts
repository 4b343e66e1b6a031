/** The flags of `init` and `import`: what a new installation is made of. */
import { Failure } from '../../shared/failure.ts';
import type { Flag, Source } from './flag.ts';

/** What makes the Secrets in the cluster. */
const SECRET_TOOLS = ['kubectl', 'external-secrets', 'sealed-secrets'] as const;
export type SecretTool = (typeof SECRET_TOOLS)[number];

function readSecretTool(text: string, { name }: Source): SecretTool {
  const tool = SECRET_TOOLS.find((each) => each === text);
  if (tool !== undefined) return tool;
  throw new Failure('GR-INIT-05', 2, `read ${name}: it must be kubectl, external-secrets or sealed-secrets.`);
}

export const INIT_FLAGS = {
  gitea: {
    of: ['init', 'import'],
    value: 'URL',
    defaultNote: 'asked',
    defaultIn: { import: 'what the files say' },
    help: 'Gitea, as pods of the cluster reach it',
  },
  scope: {
    of: ['init', 'import'],
    value: 'global|org|user|repo',
    default: 'org',
    defaultIn: { import: 'what the files say, or org with --owner' },
    help: 'whose CI jobs get runners',
  },
  owner: {
    of: ['init', 'import'],
    value: 'NAME',
    defaultNote: 'asked',
    defaultIn: { import: 'what the files say' },
    help: 'the organization, the user, or `owner/name` of the repository',
  },
  groupName: {
    of: ['init'],
    value: 'NAME',
    default: 'ci',
    help: 'name of the RunnerGroup',
  },
  groupNamespace: {
    of: ['init', 'import'],
    value: 'NAMESPACE',
    default: 'runners',
    defaultIn: { import: 'that of the files, else runners' },
    help: 'where its runners run',
  },
  cap: {
    of: ['init'],
    value: 'N',
    default: 10,
    help: 'how many runners at most',
  },
  containerMode: {
    of: ['init'],
    value: 'MODE',
    default: 'dind-rootless',
    help: 'where docker comes from: dind-rootless, dind, or host for no docker',
    choices: { init: ['dind-rootless', 'dind', 'host'] },
  },
  git: {
    of: ['init'],
    value: 'URL',
    defaultNote: 'asked',
    help: 'git repository with the RunnerGroups, as Argo CD reaches it',
  },
  gitPath: {
    of: ['init'],
    value: 'FOLDER',
    default: 'groups',
    help: 'folder of the RunnerGroups in it',
  },
  secretTool: {
    of: ['init'],
    value: 'TOOL',
    default: 'kubectl',
    help: 'what makes the Secrets: kubectl, external-secrets or sealed-secrets',
    choices: { init: SECRET_TOOLS },
    read: readSecretTool,
  },
  secretStore: {
    of: ['init'],
    value: 'NAME',
    default: 'gitea-runners',
    help: 'ClusterSecretStore of External Secrets',
  },
  webhookUrl: {
    of: ['init'],
    value: 'URL',
    default: 'http://gitea-runners.argocd.svc/webhook',
    help: 'where Gitea reaches `serve`',
  },
  force: {
    of: ['init'],
    help: 'write over files that are there',
  },
} as const satisfies Readonly<Record<string, Flag>>;
