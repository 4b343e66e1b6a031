/** The flags of `init` and `import`: what a new installation is made of. */
import { Failure } from '../../failure.ts';
import type { Flag, Source } from './flag.ts';

/** What makes the Secrets in the cluster. */
const SECRET_TOOLS = ['kubectl', 'external-secrets', 'sealed-secrets'] as const;
export type SecretTool = (typeof SECRET_TOOLS)[number];

function readSecretTool(text: string, { name }: Source): SecretTool {
  const tool = SECRET_TOOLS.find((each) => each === text);
  if (tool !== undefined) return tool;
  throw new Failure('GR-FLAG-16', 2, `read ${name}: it must be ${SECRET_TOOLS.join(', ')}.`);
}

export const INIT_FLAGS = {
  gitea: {
    of: ['init', 'import'],
    value: 'URL',
    defaultNote: 'asked',
    help: 'Gitea, as pods of the cluster reach it',
  },
  scope: {
    of: ['init', 'import'],
    value: 'global|org|user|repo',
    default: 'org',
    help: 'whose CI jobs get runners',
  },
  owner: {
    of: ['init', 'import'],
    value: 'NAME',
    defaultNote: 'asked',
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
    value: 'dind-rootless|dind|host',
    default: 'dind-rootless',
    help: 'where docker comes from; host: no docker',
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
    value: 'kubectl|external-secrets|sealed-secrets',
    default: 'kubectl',
    help: 'what makes the Secrets',
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
