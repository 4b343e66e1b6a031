/** What cannot be meant about the nodes that a pod asks for. Pure. */
import { isTarget, machineOf } from '../../answers/uncovered-labels.ts';
import type { Path } from '../../config/runnergroup/documents.ts';
import { valueAt } from '../../config/runnergroup/paths.ts';
import type { RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import { GROUP_NAME, groupLabels } from '../../shared/marks.ts';
import { childrenAt, elementsAt, listAt, type Odd, oddIf, type Part, partAt, podsOf, specOf } from './odd.ts';

/** Names of architectures in `uname -m` and in images. */
const ARCHITECTURES: ReadonlyMap<unknown, string> = new Map([
  ...['x86_64', 'x86-64', 'x64', 'AMD64', 'intel'].map((name) => [name, 'amd64'] as const),
  ...['aarch64', 'arm64v8', 'armv8', 'ARM64'].map((name) => [name, 'arm64'] as const),
  ...['armv7', 'armv7l', 'armhf', 'arm32v7'].map((name) => [name, 'arm'] as const),
  ...['i386', 'i686', 'x86'].map((name) => [name, '386'] as const),
]);
const ARCH = 'kubernetes.io/arch';

/** Warns of values of `kubernetes.io/arch` that no node has, in a selector and in an affinity. */
function aboutArchitecture(part: Part): readonly Odd[] {
  const { path, value } = part;
  const architecture = ARCHITECTURES.get(value);
  if (architecture !== undefined && (path.at(-1) === ARCH || path.at(-2) === 'values'))
    return [[path, `is ${value}, which no node says: write ${architecture}`]];
  const key = valueAt(value, ['key']) ?? ARCH;
  return key === ARCH ? childrenAt(part).flatMap((each) => aboutArchitecture(each)) : [];
}

/** Returns the architectures that a pod asks for: by its selector, and by all terms of its affinity. */
function architecturesOf(pod: Part) {
  const required = ['affinity', 'nodeAffinity', 'requiredDuringSchedulingIgnoredDuringExecution', 'nodeSelectorTerms'];
  const picks = ({ value }: Part) => valueAt(value, ['key']) === ARCH && valueAt(value, ['operator']) === 'In';
  const terms = elementsAt(pod, ...required).map((term) =>
    elementsAt(term, 'matchExpressions')
      .filter(picks)
      .flatMap(({ value }) => listAt(value, ['values'])),
  );
  const picked = terms.some(({ length }) => length === 0) ? [] : terms.flat();
  return { selected: valueAt(pod.value, ['nodeSelector', ARCH]), picked };
}

const EVERY_TAINT = 'tolerates every taint, also of nodes that are ill: write the key of the taint that you mean';
const NO_VALUE = 'is Equal without a value, which fits no taint that has one: write "operator: Exists", or the value';

export function aboutNodes(group: RunnerGroup): readonly Odd[] {
  return podsOf(group).flatMap(({ pod }) => {
    const { selected, picked } = architecturesOf(pod);
    const isTorn = selected !== undefined && picked.length > 0 && !picked.includes(selected);
    const selector = partAt(pod, 'nodeSelector');
    const isToleration = /^(?:No|PreferNo)(?:Schedule|Execute)$/.test(String(valueAt(selector.value, ['effect'])));
    const taint = childrenAt(selector).map(({ path, value }) => `${path.at(-1)}: ${value}`);
    const ofTolerations = elementsAt(pod, 'tolerations').flatMap(({ path, value }) => {
      const [operator, key, taintValue] = ['operator', 'key', 'value'].map((field) => valueAt(value, [field]));
      return oddIf(
        [operator === 'Exists' && !key && !valueAt(value, ['effect']), path, EVERY_TAINT],
        [operator === 'Equal' && (taintValue ?? '') === '', [...path, 'operator'], NO_VALUE],
      );
    });
    return [
      ...oddIf(
        [isTorn, [...selector.path, ARCH], `is ${selected}, and affinity asks for ${picked.join(' or ')}: remove one`],
        [isToleration, selector.path, `holds a toleration: write "tolerations: [{${taint.join(', ')}}]" in its place`],
      ),
      ...ofTolerations,
      ...['nodeSelector', 'affinity'].flatMap((field) => aboutArchitecture(partAt(pod, field))),
    ];
  });
}

/** Warns of a spread that selects other pods than the group's own, and of selectors that are missing and select none. */
export function aboutSpread(group: RunnerGroup): readonly Odd[] {
  const { name } = group;
  const field = 'topologySpreadConstraints';
  return podsOf(group).flatMap(({ pod, labels }) => {
    const podLabels = new Map<unknown, unknown>(Object.entries({ ...groupLabels(name), ...(labels ?? {}) }));
    const wrong = (path: Path, key: unknown, selected: readonly unknown[]): readonly Odd[] => {
      const own = podLabels.has(key) ? `${key}: ${podLabels.get(key)}` : `${GROUP_NAME}: ${name}`;
      const message = `is ${selected.join(' or ')}, which no pod of the group has, so nothing is spread: write "${own}"`;
      return oddIf([!selected.includes(podLabels.get(key)), path, message]);
    };
    const ofSpreads = elementsAt(pod, field).flatMap((spread) => [
      ...childrenAt(spread, 'labelSelector', 'matchLabels').flatMap(({ path, value }) =>
        wrong(path, path.at(-1), [value]),
      ),
      ...elementsAt(spread, 'labelSelector', 'matchExpressions').flatMap(({ path, value }) => {
        const isIn = valueAt(value, ['operator']) === 'In';
        return isIn ? wrong([...path, 'values'], valueAt(value, ['key']), listAt(value, ['values'])) : [];
      }),
    ]);
    return [...ofSpreads, ...[field, 'affinity'].flatMap((each) => withoutSelector(partAt(pod, each), name))];
  });
}

/** Constraints of pods, all with a topologyKey, that lack a selector: for Kubernetes that is no pod, and not all. */
function withoutSelector(part: Part, name: string): readonly Odd[] {
  const [topologyKey, selector] = ['topologyKey', 'labelSelector'].map((field) => valueAt(part.value, [field]));
  if (topologyKey === undefined) return childrenAt(part).flatMap((each) => withoutSelector(each, name));
  const message = `selects no pod, so it has no effect: write "labelSelector: {matchLabels: {${GROUP_NAME}: ${name}}}"`;
  return oddIf([(selector ?? undefined) === undefined, part.path, message]);
}

function architectureIn(label: string, other: string): string {
  return /armv[67]|armhf/i.test(label) ? 'arm' : (/s390x|ppc64le|riscv64/i.exec(label)?.[0].toLowerCase() ?? other);
}

/** Labels of other machines, where nothing picks such nodes, or where others are picked. */
export function aboutMachines(group: RunnerGroup): readonly Odd[] {
  const { manifest, labels } = group;
  const pods = podsOf(group);
  const isPicked = /"(?:nodeSelector|affinity|runtimeClassName)":|kubernetes\.io\/arch/.test(JSON.stringify(pods));
  const { selected, picked } = architecturesOf(pods[0]?.pod ?? specOf(group));
  const asked = selected === undefined ? picked : [selected];
  const hasDevice = isPicked || DEVICE.test(JSON.stringify(manifest));
  const labelNames = listAt(manifest, ['spec', 'labels']).map((text) => String(text).split(':')[0]);
  return labels.flatMap(({ name, text }): readonly Odd[] => {
    const isAmd = AMD64.test(name) && !isTarget(name, text);
    const machine = machineOf(name, text);
    if ((machine === undefined && !isAmd) || /Windows|macOS/.test(machine ?? '')) return [];
    const arch = architectureIn(name, isAmd ? 'amd64' : 'arm64');
    const line = machine === 'GPU' ? DEVICE_LINE : `podTemplate: {spec: {nodeSelector: {kubernetes.io/arch: ${arch}}}}`;
    const index = labelNames.indexOf(name);
    const path = ['spec', 'labels', ...(index < 0 ? [] : [index])];
    const isOther = machine !== 'GPU' && asked.length > 0 && !asked.includes(arch);
    const isFree = !isAmd && !(machine === 'GPU' ? hasDevice : isPicked);
    return oddIf(
      [isOther, path, `${name} asks for ${arch}, and podTemplate for ${asked.join(' or ')}: change one of them`],
      [isFree, path, `${name} asks for other machines, and nothing picks them: write "${line}"`],
    );
  });
}

const AMD64 = /(?:^|[-_./])(?:amd64|x64|x86[-_]64)(?:[-_./]|$)/i;
/** Something that asks for a device, or for nodes that have one. */
const DEVICE = /"(?:[a-z0-9.-]+\/[\w.-]*(?:gpu|mig-|cuda)|runtimeClassName"|tolerations"|resourceClaims")/i;
const DEVICE_LINE = 'resources: {limits: {nvidia.com/gpu: 1}}';
