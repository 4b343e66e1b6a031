/**
 * The Job of a RunnerGroup as a form with blanks, so that a start does not load cdk8s (docs/adr/0010).
 *
 *   job-construct.ts ── a group of recognisable values ──► skeletons.json   (npm run generated; a test compares)
 *   skeletons.json   ── the blanks of a real group ──────► podTemplate()    (every start)
 *
 * That both ways give the same bytes for any group is a property test: test/charts/same-bytes.property.test.ts.
 */
import type { RunnerGroup } from '../runnergroup/runner-group.ts';
import { type Json, STOP_MARGIN_SECONDS, stopWaitMs } from './container-mode.ts';
import { withoutExpansion } from './job-manifest.ts';
import { runnerConfig } from './runner-config.ts';

/** Key of an object that stands for a blank; its value is the blank's name. */
const BLANK = '$blank';

/** What differs between the Jobs of two groups of one `containerMode`, by name. Absent: the field is left out. */
export type Blanks = Readonly<Record<string, Json | undefined>>;

/** The blanks of a group. Everything of a group that its Jobs depend on is here, or in the choice of the skeleton. */
export function blanksOf(group: RunnerGroup): Blanks {
  const { limits, requests } = group.resources;
  const wanted = Object.entries({ limits, requests }).filter(([, quantities]) => Object.keys(quantities).length > 0);
  return {
    activeDeadlineSeconds: group.activeDeadlineSeconds,
    config: runnerConfig(group),
    group: group.name,
    image: group.image,
    labels: withoutExpansion(group.labels.map((label) => label.text).join(',')),
    namespace: group.namespace,
    resources: wanted.length === 0 ? undefined : Object.fromEntries(wanted),
    stopWaitMs: String(stopWaitMs(group.gracefulStopSeconds)),
    terminationGracePeriodSeconds: group.gracefulStopSeconds + STOP_MARGIN_SECONDS,
    tokenKey: group.registrationToken.key,
    tokenSecret: group.registrationToken.name,
    ttlSecondsAfterFinished: group.ttlSecondsAfterFinished,
    url: withoutExpansion(group.giteaUrl),
  };
}

/** A rendered Job -> its form: every value that equals a blank's becomes that blank. The blanks must differ from all else in it. */
export function toSkeleton(rendered: Json, blanks: Blanks): Json {
  const names = new Map(Object.entries(blanks).map(([name, value]) => [JSON.stringify(value), name]));
  const walk = (value: Json): Json => {
    const name = names.get(JSON.stringify(value));
    if (name !== undefined) return { [BLANK]: name };
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map(walk);
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, walk(item)]));
  };
  return walk(rendered);
}

/** A form with its blanks filled in. Keys keep their order. */
export function fillIn(skeleton: Json, blanks: Blanks): Json | undefined {
  if (typeof skeleton !== 'object' || skeleton === null) return skeleton;
  if (Array.isArray(skeleton)) return skeleton.flatMap((item) => fillIn(item, blanks) ?? []);
  const entries: [string, Json][] = [];
  for (const [key, item] of Object.entries(skeleton)) {
    if (key === BLANK) return blanks[String(item)];
    const filled = fillIn(item, blanks);
    if (filled !== undefined) entries.push([key, filled]);
  }
  return Object.fromEntries(entries);
}
