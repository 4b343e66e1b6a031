/** A group's Job as data. */
import type { RunnerGroup } from '../config/runnergroup/runner-group.ts';
import type { Texts } from '../shared/marks.ts';

/** The variable that holds the runner's name. Two containers have it. Of a pod's spec only it and the PriorityClass differ within a group. */
export const NAME_VARIABLE = 'GITEA_RUNNER_NAME';

/** A container as far as runners differ in it. Only `runner` and `register` hold the runner's name. */
export interface Container {
  readonly name: string;
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
  /** `preStop` is reserved in podTemplate, so it is ours. */
  readonly lifecycle?: { readonly preStop?: { readonly exec: { readonly command: readonly string[] } } };
}

/** What we read of a volume. */
export interface Volume {
  readonly name: string;
  /** Empty in the template: it is that of the Job. */
  readonly secret?: { readonly secretName?: string };
  readonly persistentVolumeClaim?: { readonly claimName: string };
}

/** A rendered Job as far as runners differ in it; the rest is carried along. */
export interface JobManifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly annotations?: Texts;
    readonly labels: Texts;
    readonly name: string;
    readonly namespace: string;
  };
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

/**
 * From our pod to the final one: merges the group's podTemplate over it and holds it to the security profile (src/plan/final-pods.ts).
 * It is handed in, because most groups have neither. Same arguments, same answer; `ours` is not changed. Keys need not be in order.
 */
export type FinishPod = (group: RunnerGroup, ours: PodTemplate) => PodTemplate;

/** With all keys in order. */
export function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  const result: Record<string, unknown> = {};
  // No key is `__proto__`: neither ours nor one that is read (src/config/runnergroup/to-runner-group.ts).
  for (const key of Object.keys(value).sort()) result[key] = sorted((value as Record<string, unknown>)[key]);
  return result;
}

/** Kubernetes expands `$(NAME)` in values and commands: a label could ask for the registration token and show it to Gitea. */
export function withoutExpansion(text: string): string {
  return text.replaceAll('$', '$$$$');
}
