import { BUNDLE, NODE, PLUGIN } from './names.ts';

/**
 * `plugin.yaml`, which Argo CD's cmp-server reads from its image. It is a file, no object of the cluster.
 *
 * No shell and no wrapper: the program is started itself, and nothing in a repository becomes part of a command. No
 * `discover`: only an Application that names the plugin gets it, and the repository is sent once, not twice. No `version`:
 * it would become part of the name in every Application. No `init`, no git credentials, no executable files.
 */
export const plugin = {
  apiVersion: 'argoproj.io/v1alpha1',
  kind: 'ConfigManagementPlugin',
  metadata: { name: PLUGIN },
  spec: {
    generate: { command: [NODE, BUNDLE, 'generate'] },
    preserveFileMode: false,
    provideGitCreds: false,
  },
} as const;
