import type { Texts } from '../shared/marks.ts';
import type { Json } from './container-mode.ts';

/** The variable that holds the runner's name. Two containers have it. Of a pod's spec only it and the PriorityClass differ within a group. */
export const NAME_VARIABLE = 'GITEA_RUNNER_NAME';

/** One entry of a container's `env`. */
export interface EnvEntry {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: Json;
}

/** A container as far as runners differ in it. Only `runner` and `register` hold the runner's name. */
export interface Container {
  readonly name: string;
  readonly env?: readonly EnvEntry[];
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
        readonly initContainers: readonly Container[];
        readonly nodeSelector?: Texts;
        readonly priorityClassName?: string;
      };
    };
  };
}

/** The same value with all keys in order. */
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
