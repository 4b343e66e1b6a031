/** `install/examples/`: what everybody writes for themselves. Names at example.com are placeholders. */
import { ApiObject } from 'cdk8s';
import type { Construct } from 'constructs';
import {
  RunnerGroup,
  type RunnerGroupSpec,
  RunnerGroupSpecContainerMode,
  RunnerGroupSpecResourcesRequests,
  RunnerGroupSpecScope,
} from '../imports/gitea.bpg.pw.ts';
import {
  APPLICATION_ANNOTATIONS,
  applicationManifest,
  applicationSpec,
  projectManifest,
} from '../src/shared/installed/installed-application.ts';
import { API_SECRET, ARGOCD_NAMESPACE, SHARD_SETTING } from '../src/shared/installed/installed-names.ts';
import { HEADER, ManifestFile } from './manifest-file.ts';
import { RUNNERS_NAMESPACE } from './names.ts';

/** The repository with the RunnerGroups. */
const REPOSITORY = 'https://gitea.example.com/ops/runners.git';
const SOURCE = { repository: REPOSITORY, path: '.', namespace: RUNNERS_NAMESPACE };

/** File name below `install/` -> text. */
export function exampleFiles(): Readonly<Record<string, string>> {
  return {
    'examples/project.yaml': write('project', (file) => {
      file.note(
        new ApiObject(file, 'project', projectManifest(SOURCE)),
        'Applications of this project can make Jobs and RunnerGroups in one namespace, and nothing else. The plugin refuses Jobs ' +
          'written by hand; .argocd-source.yaml can switch it off, so protect that file (docs/security.md).',
      );
    }),
    'examples/application.yaml': write('application', (file) => {
      file.note(new ApiObject(file, 'application', applicationManifest(SOURCE)), 'All RunnerGroups of one folder.');
    }),
    'examples/applicationset.yaml': write('applicationset', (file) => {
      file.note(applicationSet(file), 'One Application for each folder below groups/.');
    }),
    'examples/applicationset-shards.yaml': write('applicationset-shards', (file) => {
      file.note(shardSet(file), 'One folder for many runners, printed by four Applications: docs/scale.md, "Shards".');
    }),
    'examples/runnergroup.yaml': write('runnergroup', (file) => {
      file.note(exampleGroup(file), 'Goes into the repository of the Application. All fields: docs/runnergroup.md');
    }),
    'examples/runnergroup-behind-a-proxy.yaml': write('runnergroup-behind-a-proxy', (file) => {
      file.note(
        exampleGroup(file, BEHIND_PROXY),
        'Runners that reach other servers through a proxy only, and a Gitea with a certificate of a private CA. The Secret and the ' +
          'ConfigMap are in the same namespace: docs/install.md, "Behind a proxy".',
      );
    }),
    'examples/runnergroup-with-a-cache.yaml': write('runnergroup-with-a-cache', (file) => {
      file.note(
        exampleGroup(file, WITH_CACHE),
        'Runners that share the cache server of install/cache.yaml, so that actions/cache works between them: docs/cache.md.',
      );
    }),
  };
}

function write(id: string, fill: (file: ManifestFile) => void): string {
  const file = new ManifestFile(id);
  fill(file);
  return `${HEADER}---\n${file.text()}`;
}

/**
 * Plain objects, as in application.ts: the CRD of ApplicationSets has 3 MB of types.
 * `preserveResourcesOnDeletion`: a folder or a shard that goes must not end CI jobs that run.
 */
function setOf(scope: Construct, generator: object, name: string, spec: object): ApiObject {
  return new ApiObject(scope, 'set', {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'ApplicationSet',
    metadata: { name: 'runners', namespace: ARGOCD_NAMESPACE },
    spec: {
      goTemplate: true,
      goTemplateOptions: ['missingkey=error'],
      generators: [generator],
      syncPolicy: { preserveResourcesOnDeletion: true },
      template: {
        metadata: {
          annotations: APPLICATION_ANNOTATIONS,
          name,
          namespace: ARGOCD_NAMESPACE,
        },
        spec,
      },
    },
  });
}

function applicationSet(scope: Construct): ApiObject {
  const folders = { git: { repoURL: REPOSITORY, revision: 'HEAD', directories: [{ path: 'groups/*' }] } };
  const spec = applicationSpec({ ...SOURCE, path: '{{.path.path}}' });
  return setOf(scope, folders, 'runners-{{.path.basenameNormalized}}', spec);
}

/**
 * The number at the end of a name is that of its shard: `serve` finds them so. Argo CD keeps manifests for a day, by the variables of the
 * plugin. So a second variable changes with the number of shards: no number brings back what was printed for it before.
 */
function shardSet(scope: Construct): ApiObject {
  const shards = { list: { elements: ['0', '1', '2', '3'].map((shard) => ({ shard })) } };
  const spec = applicationSpec(SOURCE);
  const env = [
    { name: SHARD_SETTING, value: '{{.shard}}/4' },
    { name: 'SHARDS_CHANGED', value: '1' },
  ];
  const source = { ...spec.source, plugin: { ...spec.source.plugin, env } };
  return setOf(scope, shards, 'runners-{{.shard}}', { ...spec, source });
}

const EXAMPLE_SPEC: RunnerGroupSpec = {
  scope: RunnerGroupSpecScope.ORG,
  org: 'acme',
  gitea: { url: 'https://gitea.example.com' },
  maxActiveRunners: 10,
  containerMode: RunnerGroupSpecContainerMode.DIND_HYPHEN_ROOTLESS,
  // Pods that ask for nothing are ended first when memory is short.
  resources: {
    requests: {
      cpu: RunnerGroupSpecResourcesRequests.fromString('500m'),
      memory: RunnerGroupSpecResourcesRequests.fromString('1Gi'),
    },
  },
  registrationToken: { secretRef: { name: 'gitea-runner', key: 'registration-token' } },
  authToken: { secretRef: { name: API_SECRET, key: 'token' } },
};

function exampleGroup(scope: Construct, more: Partial<RunnerGroupSpec> = {}): RunnerGroup {
  return new RunnerGroup(scope, 'group', {
    metadata: { name: 'ci', namespace: RUNNERS_NAMESPACE },
    spec: { ...EXAMPLE_SPEC, ...more },
  });
}

const WITH_CACHE: Partial<RunnerGroupSpec> = {
  cache: {
    url: 'http://gitea-runner-cache.runners.svc:8088',
    secretRef: { name: 'gitea-runner-cache', key: 'secret' },
  },
};

const BEHIND_PROXY: Partial<RunnerGroupSpec> = {
  proxy: {
    http: 'http://proxy.example.com:3128',
    https: 'http://proxy.example.com:3128',
    noProxy: ['.example.internal', '10.0.0.0/8'],
    secretRef: { name: 'proxy-login' },
  },
  caBundle: { configMapRef: { name: 'private-ca', key: 'ca.crt' } },
};
