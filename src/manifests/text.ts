/** The fast writer of `generate`: a group's Job with marks, which each runner replaces: 3 µs, not 400. Same bytes as `cdk8s synth` (same-bytes.property.test.ts). */
import { OF_REPOSITORY } from '../config/runnergroup/runner-group.ts';
import type { Texts } from '../shared/marks.ts';
import type { RunnerGroupChart } from './app.ts';
import type { JobManifest } from './job-manifest.ts';
import { groupManifest, type Output } from './output.ts';
import { type RunnerParts, stamp } from './stamp.ts';
import { document, quote, withFinalNewline } from './yaml.ts';

/** Returns the output in pieces to be joined, in the order of `charts`. Jobs of a group share long pieces. */
export function manifestPieces(charts: readonly Pick<RunnerGroupChart, 'group' | 'templateJson'>[], output: Output) {
  const pieces: string[] = [];
  for (const { group, templateJson } of charts) {
    if (output.isLeftOut(group)) continue;
    if (output.emitGroups && !group.size) pieces.push(`---\n${document(groupManifest(group, output.shards))}`);
    const runners = output.runnersOf(group);
    if (runners.length > 0) writeJobs(templateJson, runners, pieces);
  }
  for (const object of output.kept) pieces.push(`---\n${document(object)}`);
  for (const text of output.others) pieces.push(`---\n${withFinalNewline(text)}`);
  return pieces;
}

/** A name that needs no quotes. All our names have this form. */
const PLAIN_NAME = /^[a-z0-9-]+$/;

/** Names of PriorityClasses are DNS subdomains. Between quotes these characters stand for themselves. */
const PLAIN_CLASS = /^[a-z0-9.-]+$/;

/** Words that stand in no Job; one of several, because a label might contain anything. */
const MARKS = ['zzzmarkzzz', 'qqqmarkqqq', 'xxxmarkxxx'];

function writeJobs(json: string, runners: readonly RunnerParts[], pieces: string[]): void {
  const template = JSON.parse(json) as JobManifest;
  const mark = json.includes(OF_REPOSITORY) ? undefined : MARKS.find((candidate) => !json.includes(candidate));
  /** Forms of Jobs by number of labels, PriorityClass, pool and queue. */
  const forms = new Map<string, JobForm>();
  for (const parts of runners) {
    const { name, labels, annotations, queue, priorityClass, warmSeconds, spec } = parts;
    const isPlain = PLAIN_NAME.test(name) && (priorityClass === undefined || PLAIN_CLASS.test(priorityClass));
    if (spec || mark === undefined || !isPlain) {
      pieces.push(`---\n${document(stamp(template, parts))}`);
      continue;
    }
    const values = Object.values(labels);
    const partsPresent = { priorityClass: priorityClass !== undefined, queue, warmSeconds };
    const key = `${values.length} ${partsPresent.priorityClass} ${warmSeconds !== undefined} ${queue}`;
    const form = forms.get(key) ?? formOf(template, Object.keys(labels), mark, partsPresent);
    forms.set(key, form);
    fill(form, [name, ...values, annotationLines(annotations), priorityClass ?? ''], pieces);
  }
}

/** The text of a Job cut at everything that differs between runners. */
type JobForm = ReturnType<typeof formOf>;

/** End of the line with the marked annotation. */
const MARKED = ': "x"';

/** Cuts the text of a Job at what differs. Job id, attempt and shard are all labels, so an index has one digit. @param mark stands nowhere in the template */
function formOf(
  template: JobManifest,
  labels: readonly string[],
  mark: string,
  partsPresent: { readonly priorityClass: boolean } & Pick<RunnerParts, 'queue' | 'warmSeconds'>,
) {
  const ofAnnotations = labels.length + 1;
  const marked = stamp(template, {
    name: `${mark}0`,
    labels: Object.fromEntries(labels.map((label, index) => [label, `${mark}${index + 1}`])),
    annotations: { [`${mark}${ofAnnotations}`]: 'x' },
    priorityClass: partsPresent.priorityClass ? `${mark}${ofAnnotations + 1}` : undefined,
    queue: partsPresent.queue,
    warmSeconds: partsPresent.warmSeconds,
  });
  const [head = '', ...pieces] = document(marked).split(mark);
  return {
    head: `---\n${head}`,
    /** `value`: index of what comes before `text`: the name, its labels, the lines of annotations, the PriorityClass. */
    pieces: pieces.map((piece) => {
      const value = Number(piece.slice(0, 1));
      return { value, text: piece.slice(1 + (value === ofAnnotations ? MARKED.length : 0)) };
    }),
  };
}

/** Characters from which on a piece is kept apart. */
const LONG = 256;

function fill({ head, pieces }: JobForm, values: readonly string[], into: string[]): void {
  let text = head;
  for (const { value, text: textAfter } of pieces) {
    text += values[value];
    if (textAfter.length < LONG) {
      text += textAfter;
      continue;
    }
    into.push(text, textAfter);
    text = '';
  }
  if (text !== '') into.push(text);
}

/** Lines of annotations, the first without its indent. A plain loop: lists took a tenth of a start's memory. */
function annotationLines(annotations: Texts): string {
  let lines = '';
  for (const key of Object.keys(annotations)) {
    const value = annotations[key] ?? '';
    if (value !== '') lines += `${lines === '' ? '' : '\n    '}${key}: ${quote(value)}`;
  }
  return lines;
}
