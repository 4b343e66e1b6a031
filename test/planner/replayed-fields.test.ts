/**
 * Tests that each field of a group is replayed, or that the reason why not is here. Without Kubernetes, the past is
 * replayed with today's groups.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Group } from '../../src/planner/evidence.ts';

const REPLAYED = 'replayed';
const OF_OWNERS = 'the owners of a job are asked for, as for the plan of now';
const OF_NAMES = 'it is in the names of runners, which facts.ts reads';
const NEEDS_SIGHT = 'only with sight of the Jobs: GR-INPUT-92 refuses it, or it does nothing';
const OF_NOW = 'it decides about runners that live, or of jobs that are ready now, and not who was asked';

/** A new input of the planner does not compile until it is decided here. */
const FIELDS: Readonly<Record<keyof Group, string>> = {
  maxActiveRunners: REPLAYED,
  suspend: REPLAYED,
  fairness: REPLAYED,
  spawnTimeoutMs: REPLAYED,
  origin: REPLAYED,
  look: OF_OWNERS,
  scope: OF_OWNERS,
  covers: OF_OWNERS,
  labels: OF_OWNERS,
  acceptUnlabelledJobs: OF_OWNERS,
  repositories: OF_OWNERS,
  namespace: OF_NAMES,
  name: OF_NAMES,
  templateHash: OF_NAMES,
  size: NEEDS_SIGHT,
  weight: NEEDS_SIGHT,
  limits: NEEDS_SIGHT,
  keepFailedMs: NEEDS_SIGHT,
  pendingDeadlineMs: NEEDS_SIGHT,
  registeredAt: NEEDS_SIGHT,
  queue: NEEDS_SIGHT,
  isBound: NEEDS_SIGHT,
  order: NEEDS_SIGHT,
  minIdleRunners: OF_NOW,
  longestRunMs: OF_NOW,
  priorityTiers: NEEDS_SIGHT,
};

const FOLDER = 'src/planner/unseen';
const code = readdirSync(FOLDER)
  .map((file) => readFileSync(join(FOLDER, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, ''))
  .join('\n');
/** Fields that are read of a `group`, or taken out of one. */
const isRead = (field: string): boolean =>
  new RegExp(`\\bgroup\\.${field}\\b|\\{[^{}]*\\b${field}\\b[^{}]*\\}: ?Group\\b|[({] ?${field}[ ,}]`).test(code);

it.each(Object.entries(FIELDS).filter(([, why]) => why === REPLAYED))(
  '%s is read where the past is replayed',
  (field) => {
    expect(code).toMatch(new RegExp(`\\b${field}\\b`));
  },
);

it.each(Object.entries(FIELDS).filter(([, why]) => why !== REPLAYED))('%s is not read there: %s', (field) => {
  expect(isRead(field)).toBe(false);
});
