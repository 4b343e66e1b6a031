/** Calculates the requests of a pod as the scheduler does. */
import { quantityValue } from './words.ts';

type Quantities = Readonly<Record<string, string | number>> | null;

/** The used part of a container or of a pod's spec, which has `resources` of its own from Kubernetes 1.34 on. */
interface Asking {
  readonly resources?: { readonly requests?: Quantities; readonly limits?: Quantities } | null;
  readonly restartPolicy?: unknown;
}

type Containers = Readonly<Partial<Record<'containers' | 'initContainers', readonly Asking[] | null>>>;
type Amounts = ReadonlyMap<string, number>;

const sum = (a: number, b: number): number => a + b;

/** Returns the requests of a valid pod's spec, by resource. A limit without a request counts as a request. */
export function requestsOf(spec: unknown): Amounts {
  return together(spec, ({ resources }) => ({ ...resources?.limits, ...resources?.requests }));
}

/** Returns the most that a valid pod's spec asks for, by resource: limits, else requests. */
export function mostAskedOf(spec: unknown): Amounts {
  return together(spec, ({ resources }) => ({ ...resources?.requests, ...resources?.limits }));
}

/** Sidecars run beside all that starts after them. Other init containers run one at a time. */
function together(spec: unknown, quantitiesOf: (part: Asking) => NonNullable<Quantities>): Amounts {
  const pod = (spec ?? {}) as Asking & Containers;
  const amountsOf = (part: Asking): Amounts =>
    new Map(Object.entries(quantitiesOf(part)).map(([name, amount]) => [name, quantityValue(String(amount))]));
  let sidecars: Amounts = new Map();
  let highestAmounts = amountsOf(pod);
  for (const container of pod.initContainers ?? []) {
    const running = joined(sidecars, amountsOf(container), sum);
    if (container.restartPolicy === 'Always') sidecars = running;
    highestAmounts = joined(highestAmounts, running, Math.max);
  }
  const running = (pod.containers ?? []).map(amountsOf).reduce((all, each) => joined(all, each, sum), sidecars);
  return joined(highestAmounts, running, Math.max);
}

function joined(these: Amounts, those: Amounts, join: (a: number, b: number) => number): Amounts {
  return new Map([...these, ...those].map(([name]) => [name, join(these.get(name) ?? 0, those.get(name) ?? 0)]));
}
