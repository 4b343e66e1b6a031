/** Arbitraries for any output of `generate`: groups and decisions as the planner makes them, with hostile strings. */
import fc from 'fast-check';
import type { RunnerGroup } from '../../src/config/runnergroup/runner-group.ts';
import type { Job } from '../../src/planner/evidence.ts';
import { runnerName } from '../../src/planner/names.ts';
import { runnerGroup } from '../support/runner-group.ts';
import { type GroupOutput, job, runner } from './fixtures.ts';

const dnsLabel = fc.stringMatching(/^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/).filter((text) => text.length <= 63);
const hostile = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom('', 'on', '035e2982', '---\nkind: Secret', '": {x: "', '$(TOKEN)', 'zzzmarkzzz0', '$blank', '\ud800'),
);
const label = fc.record({ name: hostile, text: hostile });
const seconds = fc.integer({ min: 0, max: 2_592_000 });
const quantities = fc.dictionary(
  fc.constantFrom('cpu', 'memory', 'ephemeral-storage', 'example.com/gpu', 'hugepages-2Mi'),
  fc.constantFrom('1', '500m', '1.5Gi', '0'),
);

/** Any RunnerGroup that was read, and some that the reader would refuse. */
export const anyGroup: fc.Arbitrary<RunnerGroup> = fc
  .record({
    namespace: dnsLabel,
    name: dnsLabel,
    containerMode: fc.constantFrom('dind-rootless' as const, 'dind' as const, 'buildkit' as const, 'host' as const),
    giteaUrl: fc.oneof(fc.webUrl(), hostile),
    labels: fc.array(label, { minLength: 1, maxLength: 5 }),
    registrationToken: fc.record({ name: fc.oneof(dnsLabel, hostile), key: fc.oneof(dnsLabel, hostile) }),
    image: fc.oneof(fc.constantFrom('gitea/runner:1.0.8', 'the-image', 'runner'), hostile),
    resources: fc.record({ requests: quantities, limits: quantities }),
    proxy: fc.option(
      fc.record({ http: hostile, https: hostile, direct: fc.array(hostile, { maxLength: 3 }), secret: dnsLabel }),
      { nil: undefined },
    ),
    activeDeadlineSeconds: seconds,
    ttlSecondsAfterFinished: seconds,
    gracefulStopSeconds: seconds,
  })
  .map((fields) =>
    runnerGroup({
      ...fields,
      manifest: { apiVersion: 'gitea.bpg.pw/v1alpha1', kind: 'RunnerGroup', metadata: { name: fields.name }, spec: {} },
    }),
  );

const anyJob: fc.Arbitrary<Job> = fc
  .record({
    id: fc.integer({ min: 1, max: 2 ** 40 }),
    attempt: fc.integer({ min: 0, max: 99_999 }),
    repository: fc.oneof(fc.constant('acme/web'), hostile),
    url: fc.oneof(
      fc.webUrl(),
      hostile,
      hostile.map((text) => `https://${text}`),
    ),
  })
  .map((fields) => job(fields));

const because = fc.constantFrom('new-runner' as const, 'chain' as const, 'busy' as const, 'own-runner' as const);

/** A cluster may show any value. */
const priorityClass = fc.oneof(fc.constant(undefined), fc.constantFrom('runner-critical', 'a.b-1'), hostile);

const queue = fc.option(dnsLabel, { nil: undefined });

/** Groups, each once, and runners, each once. */
export const anyOutput: fc.Arbitrary<readonly GroupOutput[]> = fc
  .uniqueArray(
    fc.record({
      group: anyGroup,
      decisions: fc.uniqueArray(
        fc.record({ made: anyJob, meets: fc.option(anyJob), because, pinned: fc.boolean(), priorityClass, queue }),
        { maxLength: 6, selector: ({ made }) => made.id },
      ),
      warm: fc.boolean(),
    }),
    { maxLength: 4, selector: ({ group }) => `${group.namespace}/${group.name}` },
  )
  .map((items) =>
    items.map(({ group, decisions, warm }) => ({
      group,
      runners: decisions.map(({ made, meets, because: why, pinned, priorityClass: ofPod, queue: of }, index) => {
        const { id, attempt } = made;
        const madeFor = warm && index === 0 ? { poolIndex: attempt } : { id, attempt };
        const named = { namespace: group.namespace, name: group.name, origin: group.giteaUrl, templateHash: 'x' };
        const { job: _job, ...rest } = runner({
          runner: runnerName('', named, madeFor, 0),
          group: { namespace: group.namespace, name: group.name },
          because: why,
          pinned,
          ...(ofPod !== undefined && { priorityClass: ofPod }),
          ...(of !== undefined && { queue: of }),
        });
        return meets ? { ...rest, job: meets } : rest;
      }),
    })),
  );
