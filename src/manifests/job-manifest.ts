/** A group's Job as data. */
import type { RunnerGroup } from '../config/runnergroup/runner-group.ts';
import type { Texts } from '../shared/marks.ts';

/** The variable with the runner's name, in two containers. Else only the PriorityClass differs within a group. */
export const NAME_VARIABLE = 'GITEA_RUNNER_NAME';

/** The parts of a container in which runners differ. Only `runner` and `register` hold the runner's name. */
export interface Container {
  readonly name: string;
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
  /** `preStop` is reserved in podTemplate, so it is ours. */
  readonly lifecycle?: { readonly preStop?: { readonly exec: { readonly command: readonly string[] } } };
  readonly terminationMessagePolicy?: string;
}

/** The used part of a volume. */
export interface Volume {
  readonly name: string;
  /** The Secret's name is empty in the template: it is the name of the Job. */
  readonly secret?: { readonly secretName?: string };
  readonly persistentVolumeClaim?: { readonly claimName: string };
}

/** The parts of a rendered Job in which runners differ; the rest is passed on. */
export interface JobManifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Readonly<{ annotations?: Texts; labels: Texts; name: string; namespace: string }>;
  readonly spec: {
    readonly activeDeadlineSeconds: number;
    readonly template: {
      readonly metadata: { readonly annotations: Texts; readonly labels: Texts };
      readonly spec: {
        readonly containers: readonly Container[];
        readonly initContainers?: readonly Container[];
        readonly nodeSelector?: Texts;
        readonly priorityClassName?: string;
        readonly volumes: readonly Volume[];
      };
    };
  };
}

export type PodTemplate = JobManifest['spec']['template'];

/** Makes the final pod: merges the podTemplate, checks the security profile (plan/final-pods.ts). Changes nothing. */
export type FinishPod = (group: RunnerGroup, ours: PodTemplate) => PodTemplate;

/** Returns the value with all keys in order. */
export function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  const result: Record<string, unknown> = {};
  // No key is `__proto__`: neither ours nor a parsed one (src/config/runnergroup/to-runner-group.ts).
  for (const key of Object.keys(value).sort()) result[key] = sorted((value as Record<string, unknown>)[key]);
  return result;
}

/** Kubernetes expands `$(NAME)`: without this, a label could show the registration token to Gitea. */
export function withoutExpansion(text: string): string {
  return text.replaceAll('$', '$$$$');
}
