/** The objects of `install/*.yaml` as Helm templates: which value of the chart decides what, and which objects are optional. */
import { parse } from 'yaml';
import * as z from 'zod';
import { HEADER, type ManifestFile } from '../manifest-file.ts';
import {
  ARGOCD_NAMESPACE,
  DEFAULTS,
  NAME,
  REGISTRATION_ROLE,
  REPO_SERVER_ACCOUNT,
  RUNNERS_NAMESPACE,
  SECRETS_ROLE,
} from '../names.ts';
import { cache, ownObjects, registrationSecrets, runnersNamespace, secretsApi } from '../objects.ts';
import {
  block,
  type Edit,
  forEach,
  more,
  type ObjectPath,
  objectTemplate,
  optional,
  optionalText,
  value,
} from './template.ts';

const CACHE = 'gitea-runner-cache';
/** The chart makes no other namespace, and Helm would stop in the middle. */
const CACHE_HAS_NAMESPACE = `{{- if not (has $.Values.cache.namespace $.Values.runners.namespaces) }}
{{- fail (printf "cache.namespace is %s, but must be one of runners.namespaces: %s" $.Values.cache.namespace (join ", " $.Values.runners.namespaces)) }}
{{- end }}`;
/** Helm leaves such an object alone when the release is uninstalled. */
const KEEP: Edit = {
  path: ['metadata', 'annotations'],
  how: 'add',
  put: { lines: () => ['annotations:', '  helm.sh/resource-policy: keep'] },
};

const CREATED = '$.Values.runners.createNamespaces';
const POLICIES = '$.Values.networkPolicy.enabled';

/** By kind and name. */
type Table<T> = Readonly<Record<string, T>>;

interface TemplateFile {
  readonly manifests: ManifestFile;
  /** What the namespace of the runners becomes. */
  readonly namespace: string;
  readonly edits: Table<readonly Edit[]>;
  /** Conditions of single objects. */
  readonly when: Table<string>;
  /** Around the whole file. */
  readonly around?: readonly [string, string];
}

/** File name below `install/` -> text. */
export function templates(): Readonly<Record<string, string>> {
  const eachNamespace = '{{- range $namespace := $.Values.runners.namespaces }}';
  return {
    'chart/templates/gitea-runners.yaml': template({
      manifests: ownObjects(),
      namespace: '',
      edits: OWN,
      when: { [`NetworkPolicy ${NAME}`]: POLICIES },
    }),
    'chart/templates/runners.yaml': template({
      manifests: runnersNamespace(),
      namespace: '$namespace',
      edits: RUNNERS,
      when: { [`Namespace ${RUNNERS_NAMESPACE}`]: CREATED, 'NetworkPolicy gitea-runner': POLICIES },
      around: [eachNamespace, '{{- end }}'],
    }),
    'chart/templates/secrets-api.yaml': template({
      manifests: secretsApi(),
      namespace: '$namespace',
      edits: {
        [`Role ${SECRETS_ROLE}`]: [
          forEach(['rules', 0, 'resourceNames'], '$.Values.secretsApi.secretNames', ['- {{ . }}']),
        ],
      },
      when: {},
      around: [`{{- if $.Values.secretsApi.enabled }}\n${eachNamespace}`, '{{- end }}\n{{- end }}'],
    }),
    'chart/templates/registration-secrets.yaml': template({
      manifests: registrationSecrets(),
      namespace: '$namespace',
      edits: {
        [`Role ${REGISTRATION_ROLE}`]: [
          forEach(['rules', 0, 'resourceNames'], '$.Values.registrationSecrets.secretNames', ['- {{ . }}']),
        ],
      },
      when: {},
      around: [`{{- if $.Values.registrationSecrets.enabled }}\n${eachNamespace}`, '{{- end }}\n{{- end }}'],
    }),
    'chart/templates/cache.yaml': template({
      manifests: cache(),
      namespace: '$.Values.cache.namespace',
      edits: CACHE_EDITS,
      when: { [`NetworkPolicy ${CACHE}`]: POLICIES },
      around: [`{{- if $.Values.cache.enabled }}\n${CACHE_HAS_NAMESPACE}`, '{{- end }}'],
    }),
  };
}

/** The CRD. A template and no file of `crds/`: Helm upgrades a template (ADR 43). */
export function crdTemplate(text: string): string {
  const object: unknown = parse(text);
  return `${HEADER}{{- if $.Values.crds.enabled }}\n---\n${objectTemplate(object, [KEEP])}{{- end }}\n`;
}

const POD: ObjectPath = ['spec', 'template', 'spec'];
const CONTAINER: ObjectPath = [...POD, 'containers', 0];
const SERVE = '$.Values.serve';

/** A change of the settings replaces the pods: the environment is read at the start. */
const POD_ANNOTATIONS = [
  '{{- $settings := include "gitea-runners.settings" $ }}',
  '{{- if or $settings $.Values.serve.podAnnotations }}',
  'annotations:',
  '{{- with $settings }}',
  '  gitea.bpg.pw/settings: {{ sha256sum . | trunc 16 | quote }}',
  '{{- end }}',
];

const OWN: Table<readonly Edit[]> = {
  [`ConfigMap ${DEFAULTS}`]: [
    value(['data', 'GITEA_RUNNERS_ARGOCD_NAMESPACE'], '$.Release.Namespace'),
    value(['data', 'GITEA_RUNNERS_ARGOCD_URL'], '$.Values.argocd.url | quote'),
    value(['data', 'GITEA_RUNNERS_NAMESPACES'], 'join "," $.Values.runners.namespaces | quote'),
  ],
  [`Deployment ${NAME}`]: [
    value(['spec', 'replicas'], `${SERVE}.replicas`),
    {
      path: ['spec', 'template', 'metadata', 'annotations'],
      how: 'add',
      put: {
        lines: (indent) => [
          ...POD_ANNOTATIONS,
          `{{- with ${SERVE}.podAnnotations }}`,
          `{{ toYaml . | indent ${indent + 2} }}`,
          '{{- end }}',
          '{{- end }}',
        ],
      },
    },
    optional([...POD, 'imagePullSecrets'], '$.Values.imagePullSecrets'),
    block([...POD, 'nodeSelector'], `${SERVE}.nodeSelector`),
    optional([...POD, 'tolerations'], `${SERVE}.tolerations`),
    optional([...POD, 'affinity'], `${SERVE}.affinity`),
    optionalText([...POD, 'priorityClassName'], `${SERVE}.priorityClassName`),
    value([...CONTAINER, 'image'], 'include "gitea-runners.image" $ | quote'),
    value([...CONTAINER, 'imagePullPolicy'], '$.Values.image.pullPolicy'),
    more([...CONTAINER, 'command'], `${SERVE}.extraArgs`),
    block([...CONTAINER, 'resources'], `${SERVE}.resources`),
    more([...CONTAINER, 'volumeMounts'], `${SERVE}.extraVolumeMounts`),
    more([...POD, 'volumes'], `${SERVE}.extraVolumes`),
  ],
  [`Service ${NAME}`]: [
    optional(['metadata', 'annotations'], '$.Values.service.annotations'),
    optionalText(['spec', 'type'], 'ternary "" $.Values.service.type (eq $.Values.service.type "ClusterIP")'),
  ],
  [`NetworkPolicy ${NAME}`]: [
    forEach(
      ['spec', 'ingress', 1, 'from', 0, 'namespaceSelector', 'matchExpressions', 0, 'values'],
      '$.Values.runners.namespaces',
      ['- {{ . }}'],
    ),
    forEach(['spec', 'egress', 3, 'ports'], '$.Values.networkPolicy.egressPorts', [
      '- port: {{ . }}',
      '  protocol: TCP',
    ]),
  ],
};

const RUNNERS: Table<readonly Edit[]> = {
  [`Namespace ${RUNNERS_NAMESPACE}`]: [
    KEEP,
    value(['metadata', 'name'], '$namespace'),
    ...['audit', 'enforce', 'warn'].map((mode) =>
      value(['metadata', 'labels', `pod-security.kubernetes.io/${mode}`], '$.Values.runners.podSecurity'),
    ),
  ],
};

const CACHE_EDITS: Table<readonly Edit[]> = {
  [`PersistentVolumeClaim ${CACHE}`]: [
    value(['spec', 'resources', 'requests', 'storage'], '$.Values.cache.size'),
    optionalText(['spec', 'storageClassName'], '$.Values.cache.storageClassName'),
  ],
  [`Deployment ${CACHE}`]: [
    optional([...POD, 'imagePullSecrets'], '$.Values.imagePullSecrets'),
    block([...POD, 'nodeSelector'], '$.Values.cache.nodeSelector'),
    optional([...POD, 'tolerations'], '$.Values.cache.tolerations'),
    value([...CONTAINER, 'image'], '$.Values.cache.image | quote'),
    value([...CONTAINER, 'command', 6], `printf "${CACHE}.%s.svc" $.Values.cache.namespace`),
    block([...CONTAINER, 'resources'], '$.Values.cache.resources'),
  ],
};

const KubeObject = z.looseObject({
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }),
  subjects: z.array(z.looseObject({ name: z.string(), namespace: z.string().optional() })).optional(),
});

/** @throws Error when an edit or a condition fits no object. */
function template({ manifests, namespace, edits, when, around = ['', ''] }: TemplateFile): string {
  const unused = new Set([...Object.keys(edits), ...Object.keys(when)]);
  const texts = manifests.entries().map(({ note, object }) => {
    const { kind, metadata } = KubeObject.parse(object);
    const id = `${kind} ${metadata.name}`;
    unused.delete(id);
    const text = `---\n${note}${objectTemplate(object, [...placeEdits(object, namespace), ...(edits[id] ?? [])])}`;
    return when[id] === undefined ? text : `{{- if ${when[id]} }}\n${text}{{- end }}\n`;
  });
  if (unused.size > 0) throw new Error(`no object ${[...unused].join(', ')} for the chart's templates`);
  const [before, after] = around.map((text) => (text === '' ? '' : `${text}\n`));
  return `${HEADER}${before}${texts.join('')}${after}`;
}

/** The namespaces of an object and of the accounts that it names. */
function placeEdits(object: unknown, runners: string): readonly Edit[] {
  const { metadata, subjects = [] } = KubeObject.parse(object);
  const places: Table<string> = { [ARGOCD_NAMESPACE]: '$.Release.Namespace', [RUNNERS_NAMESPACE]: runners };
  const own = places[metadata.namespace ?? ''];
  return [
    ...(own === undefined ? [] : [value(['metadata', 'namespace'], own)]),
    ...subjects.flatMap(({ name }, index) => [
      value(['subjects', index, 'namespace'], '$.Release.Namespace'),
      ...(name === REPO_SERVER_ACCOUNT
        ? [value(['subjects', index, 'name'], '$.Values.argocd.repoServerAccount')]
        : []),
    ]),
  ];
}
