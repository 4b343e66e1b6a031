/** What `generate` printed, as far as the demo's Argo CD and pods look at it. */
import { parseAllDocuments } from 'yaml';
import { GROUP_NAME, HOOK, isPinned, JOB_ID, SKIP } from '../src/shared/marks.ts';
import { printable } from '../src/shared/printable.ts';

/** One Kubernetes Job that should exist. */
export interface WantedJob {
  /** Also the runner's name in Gitea. */
  readonly name: string;
  readonly group: string;
  /** Id of the Gitea job that it was made for. */
  readonly madeFor?: number;
  /** Names that the runner registers with. */
  readonly labels: readonly string[];
  /** Argo CD does not prune it: its runner works. */
  readonly pinned: boolean;
  /** Argo CD leaves it as it is, and does not make it. */
  readonly skip: boolean;
}

/** The name part of a label: only a known schema is cut off, as the runner does (internal/pkg/labels). */
function labelName(label: string): string {
  return label.replace(/:(docker|host)(:.*)?$/, '');
}

interface PrintedVariable {
  readonly name?: string;
  readonly value?: string;
}

interface PrintedManifest {
  readonly kind?: string;
  readonly metadata?: {
    readonly name?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: {
    readonly template?: {
      readonly spec?: {
        readonly containers?: readonly { readonly name?: string; readonly env?: readonly PrintedVariable[] }[];
      };
    };
  };
}

/** Reads the Jobs in `generate`'s output; other kinds are left out. @throws Error for a Job the demo cannot run. */
export function wantedJobs(stdout: string): WantedJob[] {
  return parseAllDocuments(stdout).flatMap((document) => {
    if (document.errors[0]) throw document.errors[0];
    const manifest = document.toJS() as PrintedManifest | null;
    return manifest?.kind === 'Job' ? [wantedJob(manifest)] : [];
  });
}

function wantedJob({ metadata, spec }: PrintedManifest): WantedJob {
  const runner = spec?.template?.spec?.containers?.find((container) => container.name === 'runner');
  const env = new Map(runner?.env?.map(({ name, value }) => [name, value]));
  const labels = env.get('GITEA_RUNNER_LABELS');
  const group = metadata?.labels?.[GROUP_NAME];
  if (!metadata?.name || !group || labels === undefined) {
    throw new Error(`generate printed a Job without name, group or runner labels: ${printable(metadata?.name ?? '?')}`);
  }
  const jobId = metadata.labels?.[JOB_ID];
  const annotations = metadata.annotations ?? {};
  return {
    name: metadata.name,
    group,
    ...(jobId === undefined ? {} : { madeFor: Number(jobId) }),
    labels: labels.split(',').map(labelName),
    pinned: isPinned(annotations),
    skip: annotations[HOOK] === SKIP,
  };
}
