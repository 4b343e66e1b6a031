/** Tests whether a node could ever take a pod. */
import { describe, expect, it } from 'vitest';
import { PodPlace, whyNot } from '../../../src/cli/doctor/node-fit.ts';
import { Node } from '../../../src/cli/reading/reads.ts';

type Fields = Readonly<Record<string, unknown>>;

function node({ labels = {}, allocatable = {}, capacity = {}, ...spec }: Fields = {}): Node {
  return Node.parse({
    metadata: { name: 'n1', labels },
    spec,
    status: { capacity, allocatable: { cpu: '2', memory: '4Gi', ...(allocatable as object) } },
  });
}

const pod = (spec: Fields = {}): PodPlace => PodPlace.parse({ containers: [{ name: 'runner' }], ...spec });
const asking = (requests: Fields, limits: Fields = {}): Fields => ({ resources: { requests, limits } });

function affinity(...terms: readonly (readonly Fields[])[]): Fields {
  const nodeSelectorTerms = terms.map((matchExpressions) => ({ matchExpressions }));
  return { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } } };
}

describe('labels', () => {
  const gpu = node({ labels: { gpu: 'yes', size: '5' } });

  it('whyNot names each label of nodeSelector that the node has not', () => {
    expect(whyNot(pod({ nodeSelector: { gpu: 'yes', arch: 'arm', zone: 'a' } }), gpu)).toBe(
      'no label arch=arm, zone=a',
    );
    expect(whyNot(pod({ nodeSelector: { gpu: 'yes' } }), gpu)).toBeUndefined();
  });

  it.each<readonly [string, Fields, boolean]>([
    ['In', { key: 'gpu', operator: 'In', values: ['no', 'yes'] }, true],
    ['In another value', { key: 'gpu', operator: 'In', values: ['no'] }, false],
    ['In of a label that is not there', { key: 'arch', operator: 'In', values: ['arm'] }, false],
    ['NotIn', { key: 'gpu', operator: 'NotIn', values: ['no'] }, true],
    ['NotIn of a label that is not there', { key: 'arch', operator: 'NotIn', values: ['arm'] }, true],
    ['NotIn its value', { key: 'gpu', operator: 'NotIn', values: ['yes'] }, false],
    ['Exists', { key: 'gpu', operator: 'Exists' }, true],
    ['Exists not', { key: 'arch', operator: 'Exists' }, false],
    ['DoesNotExist', { key: 'arch', operator: 'DoesNotExist' }, true],
    ['DoesNotExist but does', { key: 'gpu', operator: 'DoesNotExist' }, false],
    ['Gt', { key: 'size', operator: 'Gt', values: ['4'] }, true],
    ['Gt equal', { key: 'size', operator: 'Gt', values: ['5'] }, false],
    ['Lt', { key: 'size', operator: 'Lt', values: ['6'] }, true],
    ['Lt equal', { key: 'size', operator: 'Lt', values: ['5'] }, false],
    ['Gt of no number', { key: 'gpu', operator: 'Gt', values: ['1'] }, false],
    ['an operator of the future: doubt is no cross', { key: 'gpu', operator: 'Like', values: ['y'] }, true],
  ])('judges nodeAffinity: %s', (_, expression, fits) => {
    expect(whyNot(pod(affinity([expression])), gpu)).toBe(fits ? undefined : 'its labels do not fit nodeAffinity');
  });

  it('whyNot needs one term of nodeAffinity, and of it all expressions', () => {
    const [yes, no] = [
      { key: 'gpu', operator: 'Exists' },
      { key: 'arch', operator: 'Exists' },
    ];

    expect(whyNot(pod(affinity([no], [yes])), gpu)).toBeUndefined();
    expect(whyNot(pod(affinity([yes, no])), gpu)).toBeDefined();
    expect(whyNot(pod(affinity([])), gpu)).toBeDefined();
  });
});

describe('taints', () => {
  const tainted = node({ taints: [{ key: 'ci', value: 'only', effect: 'NoSchedule' }] });

  it.each<readonly [string, Fields, boolean]>([
    ['key, value and effect of the taint', { key: 'ci', operator: 'Equal', value: 'only', effect: 'NoSchedule' }, true],
    ['Equal by default', { key: 'ci', value: 'only' }, true],
    ['any value', { key: 'ci', operator: 'Exists' }, true],
    ['anything', { operator: 'Exists' }, true],
    ["another value than the taint's", { key: 'ci', value: 'other' }, false],
    ["another effect than the taint's", { key: 'ci', operator: 'Exists', effect: 'NoExecute' }, false],
    ["another key than the taint's", { key: 'gpu', operator: 'Exists' }, false],
    ['no key, and not Exists', { value: 'only' }, false],
  ])('taints are tolerated by a toleration of %s', (_, toleration, fits) => {
    expect(whyNot(pod({ tolerations: [toleration] }), tainted)).toBe(fits ? undefined : 'taint ci=only:NoSchedule');
  });

  it('taints are there as soon as the node is cordoned', () => {
    const cordoned = node({ unschedulable: true });

    expect(whyNot(pod(), cordoned)).toBe('taint node.kubernetes.io/unschedulable:NoSchedule');
    expect(whyNot(pod({ tolerations: [{ operator: 'Exists' }] }), cordoned)).toBeUndefined();
  });

  it('taints do not keep pods away when they only would rather not', () => {
    expect(whyNot(pod(), node({ taints: [{ key: 'ci', effect: 'PreferNoSchedule' }] }))).toBeUndefined();
  });
});

describe('size', () => {
  it('adds what runs at the same time: containers and init containers that are restarted', () => {
    const both = {
      containers: [asking({ memory: '3Gi' })],
      initContainers: [{ ...asking({ memory: '2Gi' }), restartPolicy: 'Always' }],
    };

    expect(whyNot(pod(both), node())).toBe('memory: 4Gi, too little');
    expect(whyNot(pod({ ...both, initContainers: [asking({ memory: '2Gi' })] }), node())).toBeUndefined();
  });

  it('whyNot counts an init container that alone is larger', () => {
    expect(whyNot(pod({ initContainers: [asking({ cpu: '2500m' })] }), node())).toBe('cpu: 2, too little');
  });

  it('whyNot takes a limit for a request that is not there, and a request before a limit', () => {
    expect(whyNot(pod({ containers: [asking({}, { cpu: 3 })] }), node())).toBe('cpu: 2, too little');
    expect(whyNot(pod({ containers: [asking({ cpu: 1 }, { cpu: 3 })] }), node())).toBeUndefined();
  });

  it('whyNot knows that a node without a resource has none', () => {
    const gpu = pod({ containers: [asking({}, { 'nvidia.com/gpu': 1 })] });

    expect(whyNot(gpu, node())).toBe('nvidia.com/gpu: none, too little');
    expect(whyNot(gpu, node({ allocatable: { 'nvidia.com/gpu': '0' }, capacity: { 'nvidia.com/gpu': '4' } }))).toBe(
      'nvidia.com/gpu: 0 of 4 offered, too little',
    );
    expect(whyNot(gpu, node({ allocatable: { 'nvidia.com/gpu': '1' } }))).toBeUndefined();
  });
});

const handlers = (userNamespaces: boolean) => [{ name: '', features: { userNamespaces } }];
const nodeOf = (kernelVersion: string, runtimeHandlers?: readonly Fields[]) =>
  Node.parse({
    metadata: { name: 'n1' },
    status: { nodeInfo: { kernelVersion, containerRuntimeVersion: 'containerd://1.6.20' }, runtimeHandlers },
  });
const inside = pod({ hostUsers: false });

it.each<readonly [string, Node, boolean]>([
  ['its runtime has them', nodeOf('6.3.0-1-cloud', handlers(true)), true],
  ['one of its runtimes has them', nodeOf('6.12.9', [...handlers(false), ...handlers(true)]), true],
  ['no runtime has them', nodeOf('6.12.9', handlers(false)), false],
  ['its runtime tells of none', nodeOf('6.12.9'), false],
  ['its kernel is too old', nodeOf('6.2.16-generic', handlers(true)), false],
  ['its kernel is much too old', nodeOf('5.15.0', handlers(true)), false],
  ['its kernel is of the next series', nodeOf('7.0.1', handlers(true)), true],
])('user namespaces are needed by a pod that asks for one: %s', (_, on, fits) => {
  const why = whyNot(inside, on);

  if (fits) expect(why).toBeUndefined();
  else expect(why).toMatch(/^no user namespaces, which need Kubernetes 1\.33, Linux 6\.3, containerd 2 .*1\.6\.20\)$/);
  expect(whyNot(pod(), on)).toBeUndefined();
});
