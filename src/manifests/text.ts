/**
 * The fast writer of `generate`. It writes the Job of a group once, with marks where runners differ; each runner's Job is that text
 * with the marks replaced. 3 µs per Job instead of 400 (docs/performance.md).
 * `cdk8s synth` stamps objects and writes the same bytes: test/manifests/same-bytes.property.test.ts.
 */

import type { RunnerGroup } from '../config/runnergroup/runner-group.ts';
import type { EmittedRunner } from '../planner/decisions.ts';
import { groupManifest } from './group-manifest.ts';
import type { JobManifest } from './job-manifest.ts';
import { jobAnnotations, runnerLabels, type Treatment } from './labels.ts';
import type { Output } from './output.ts';
import { partsOf, stamp } from './stamp.ts';
import { isWarm } from './warm.ts';
import { document, ended, quote } from './yaml.ts';

/** A group and the template of its Jobs; a `RunnerGroupChart` is one. */
export interface GroupTemplate {
  readonly group: RunnerGroup;
  readonly templateJson: string;
}

/**
 * The whole output in pieces, to be joined: each document behind a line `---`. Each group has its object (when asked for) and its
 * Jobs; the other documents follow. The Jobs of a group share their long pieces as the same string objects. So the writer does not join
 * them first.
 * @param charts in output order, as `RunnersApp.groupCharts`.
 */
export function manifestPieces(charts: readonly GroupTemplate[], output: Output): readonly string[] {
  const pieces: string[] = [];
  for (const chart of charts) {
    const { group } = chart;
    if (output.isLeftOut(group)) continue;
    if (output.emitGroups) pieces.push(`---\n${document(groupManifest(group))}`);
    const runners = output.runnersOf(group);
    if (runners.length === 0) continue;
    const writer = new JobWriter(chart.templateJson, pieces, output.liveSpecOf);
    for (const runner of runners) writer.write(runner);
  }
  for (const object of output.kept) pieces.push(`---\n${document(object)}`);
  for (const text of output.others) pieces.push(`---\n${ended(text)}`);
  return pieces;
}

/** What needs no quoting; all our names are such words. */
const PLAIN_NAME = /^[a-z0-9-]+$/;

/** Names of PriorityClasses are DNS subdomains. Between quotes these characters stand for themselves. */
const PLAIN_CLASS = /^[a-z0-9.-]+$/;

/** Writes the Jobs of one group. */
class JobWriter {
  readonly #json: string;
  readonly #template: JobManifest;
  readonly #pieces: string[];
  readonly #liveSpecOf: Output['liveSpecOf'];
  /** By number of labels, PriorityClass and pool. Undefined: no mark is free to cut the text with. */
  readonly #forms = new Map<number, JobForm | undefined>();

  constructor(json: string, pieces: string[], liveSpecOf: Output['liveSpecOf']) {
    this.#json = json;
    this.#template = JSON.parse(json) as JobManifest;
    this.#pieces = pieces;
    this.#liveSpecOf = liveSpecOf;
  }

  write(decision: EmittedRunner): void {
    const { runner, priorityClass } = decision;
    const liveSpec = this.#liveSpecOf(decision);
    if (liveSpec) {
      this.#pieces.push(`---\n${document(stamp(this.#template, partsOf(decision, liveSpec)))}`);
      return;
    }
    const labels = runnerLabels(runner);
    const values = Object.values(labels);
    const has = { priorityClass: priorityClass !== undefined, isWarm: isWarm(runner) };
    const key = (values.length * 2 + Number(has.priorityClass)) * 2 + Number(has.isWarm);
    if (!this.#forms.has(key)) {
      const mark = MARKS.find((candidate) => !this.#json.includes(candidate));
      const made = mark === undefined ? undefined : formOf(this.#template, Object.keys(labels), mark, has);
      this.#forms.set(key, made);
    }
    const form = this.#forms.get(key);
    if (form && PLAIN_NAME.test(runner) && (priorityClass === undefined || PLAIN_CLASS.test(priorityClass))) {
      fill(form, [runner, ...values, annotationLines(decision), priorityClass ?? ''], this.#pieces);
    } else {
      this.#pieces.push(`---\n${document(stamp(this.#template, partsOf(decision)))}`);
    }
  }
}

/** The text of a Job cut at everything that differs between runners. */
interface JobForm {
  readonly head: string;
  /** `value`: index of what comes before `text`: the name, its labels, the lines of annotations, the PriorityClass. */
  readonly pieces: readonly { readonly value: number; readonly text: string }[];
}

/** Words that stand in no Job; one of several, because a label might contain anything. */
const MARKS = ['zzzmarkzzz', 'qqqmarkqqq', 'xxxmarkxxx'];
/** How the line of the marked annotation ends. */
const EMPTY = ': ""';

/** What some runners have. */
interface FormParts {
  readonly priorityClass: boolean;
  readonly isWarm: boolean;
}

/** @param mark stands nowhere in the template. */
function formOf(template: JobManifest, labels: readonly string[], mark: string, has: FormParts): JobForm {
  const ofAnnotations = labels.length + 1;
  const marked = stamp(template, {
    name: `${mark}0`,
    labels: Object.fromEntries(labels.map((label, index) => [label, `${mark}${index + 1}`])),
    annotations: { [`${mark}${ofAnnotations}`]: '' },
    priorityClass: has.priorityClass ? `${mark}${ofAnnotations + 1}` : undefined,
    isWarm: has.isWarm,
  });
  const [head = '', ...pieces] = document(marked).split(mark);
  return {
    head: `---\n${head}`,
    pieces: pieces.map((piece) => {
      const value = Number(piece.slice(0, 1));
      return { value, text: piece.slice(1 + (value === ofAnnotations ? EMPTY.length : 0)) };
    }),
  };
}

/** Characters from which on a piece is kept apart. */
const LONG = 256;

function fill({ head, pieces }: JobForm, values: readonly string[], into: string[]): void {
  let text = head;
  for (const { value, text: after } of pieces) {
    text += values[value];
    if (after.length < LONG) {
      text += after;
      continue;
    }
    into.push(text, after);
    text = '';
  }
  if (text !== '') into.push(text);
}

const ANNOTATIONS = Object.keys(jobAnnotations({ pinned: false }));

/** Lines of annotations behind the indent of the first one. Their keys are plain words in order (`labels.ts`). */
function annotationLines(treatment: Treatment): string {
  let text = '';
  const annotations = jobAnnotations(treatment);
  for (const key of ANNOTATIONS) {
    const value = annotations[key] ?? '';
    if (value !== '') text += `${text === '' ? '' : '\n    '}${key}: ${quote(value)}`;
  }
  return text;
}
