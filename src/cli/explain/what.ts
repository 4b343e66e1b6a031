/** `explain WHAT`: which of the arguments is it, and what does it name. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { STANDARD_INPUT } from '../../config/runnergroup/files.ts';
import { Failure } from '../../shared/failure.ts';
import { parseUrl } from '../../shared/parse-url.ts';
import { printable } from '../../shared/printable.ts';

/** What somebody asks about. */
export type What =
  /** `acme/api#8`: the number that Gitea shows beside the title of a run. */
  | { readonly is: 'run'; readonly repository: string; readonly number: number }
  /** `17`, `#17`, `job/17`: the first column of the table. With a repository when it comes from an address of Gitea's API. */
  | { readonly is: 'job'; readonly id: number }
  /** Of an address: the end of its path, from the repository on. */
  | { readonly is: 'page'; readonly path: string; readonly origin: string }
  /** `group/ci`, `runner/ci-7-1-9c31e0aa`, `runners/ci`, `ci`: a RunnerGroup, a runner or its pod. */
  | {
      readonly is: 'name';
      readonly name: string;
      readonly of: 'group' | 'runner' | 'any';
      readonly namespace?: string;
    };

/** Arguments of `explain`. */
export interface ExplainArguments {
  readonly what?: What;
  /** WHAT as it was written. */
  readonly written?: string;
  readonly paths: readonly string[];
}

const REPOSITORY_RUN = /^([\w.-]+\/[\w.-]+)#(\d{1,15})$/;
const JOB_ID = /^(?:#|jobs?\/)?(\d{1,15})$/;
const PAGE = /\/[\w.-]+\/[\w.-]+\/actions\/(?:runs|jobs)\/\d+(?:\/(?:jobs|attempts)\/\d+)*\/?$/;
/** What a person calls a kind, as kubectl takes it: `pod/NAME`. */
const KINDS: Readonly<Record<string, 'group' | 'runner'>> = {
  group: 'group',
  rg: 'group',
  runnergroup: 'group',
  runnergroups: 'group',
  runner: 'runner',
  pod: 'runner',
  pods: 'runner',
  job: 'runner',
};

/**
 * Tells WHAT from PATHs, in any order. A file or folder that exists is a PATH. So is what looks like one: it begins with a dot, slash or
 * tilde, ends with a slash, has two slashes, or is named `*.yaml`, `*.yml` or `*.json`. @throws Failure exit 2 for two WHATs, or an address that is not Gitea's
 */
export function splitArguments(args: readonly string[], cwd: string): ExplainArguments {
  const paths: string[] = [];
  let found: { readonly what: What; readonly written: string } | undefined;
  for (const arg of args) {
    const what = isPath(arg, cwd) ? undefined : readWhat(arg);
    if (what === undefined) paths.push(arg);
    else if (found === undefined) found = { what, written: arg };
    else {
      throw new Failure(
        'GR-EXPLAIN-01',
        2,
        `explain ${printable(found.written)} and ${printable(arg)}: neither is a file or folder here, and only one thing is ` +
          'explained at a time. Name one.',
      );
    }
  }
  return { paths, ...found };
}

function isPath(arg: string, cwd: string): boolean {
  if (arg === STANDARD_INPUT || arg === '') return true;
  if (/^https?:\/\//.test(arg) || REPOSITORY_RUN.test(arg)) return false;
  return /^[./~]|\/$|\.(?:ya?ml|json)$/.test(arg) || existsSync(resolve(cwd, arg));
}

function readWhat(arg: string): What | undefined {
  const run = REPOSITORY_RUN.exec(arg);
  if (run) return { is: 'run', repository: run[1] ?? '', number: Number(run[2]) };
  const job = JOB_ID.exec(arg);
  if (job) return { is: 'job', id: Number(job[1]) };
  if (/^https?:\/\//.test(arg)) return readAddress(arg);
  const [first = '', second, ...more] = arg.split('/');
  if (more.length > 0) return undefined;
  if (second === undefined) return { is: 'name', of: 'any', name: first };
  const of = KINDS[first];
  return of ? { is: 'name', of, name: second } : { is: 'name', of: 'any', namespace: first, name: second };
}

function readAddress(text: string): What {
  const url = parseUrl(text);
  const path = url && PAGE.exec(url.pathname)?.[0];
  if (!url || path === undefined) {
    throw new Failure(
      'GR-EXPLAIN-02',
      2,
      `explain ${printable(text.split(/[?#]/)[0] ?? '')}: it is not the page of a run or job. Such an address ends in ` +
        '/OWNER/REPOSITORY/actions/runs/NUMBER or …/runs/NUMBER/jobs/NUMBER.',
    );
  }
  const id = /\/actions\/jobs\/(\d+)\/?$/.exec(path)?.[1];
  if (id !== undefined) return { is: 'job', id: Number(id) };
  return { is: 'page', path: path.replace(/\/$/, ''), origin: url.origin };
}
