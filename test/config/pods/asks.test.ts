import { expect, it } from 'vitest';
import { asksOf } from '../../../src/config/pods/asks.ts';
import { FULL_TEMPLATE } from './full-template.ts';

it('asksOf names every image, priority class, account and Secret of a template', () => {
  const named = asksOf(FULL_TEMPLATE)
    .filter(({ kind }) => kind !== 'field')
    .map(({ kind, value, path }) => `${kind} ${value} ${path.join('.')}`);

  expect(named.toSorted()).toEqual([
    'image registry.example.com/logs:1 spec.initContainers.1.image',
    'image registry.example.com/proxy:1 spec.containers.1.image',
    'image registry.example.com/warm-up:1 spec.initContainers.0.image',
    'priorityClass ci-low spec.priorityClassName',
    'pullSecret registry spec.imagePullSecrets.0.name',
    'secret npm spec.containers.0.env.2.valueFrom.secretKeyRef.name',
  ]);
});

it('asksOf names Secrets that the driver of a volume reads, and images that are volumes', () => {
  const volumes = [
    { name: 'a', csi: { driver: 'd', nodePublishSecretRef: { name: 's' } } },
    { name: 'b', image: { reference: 'i' } },
    { name: 'c', projected: { sources: [{ secret: { name: 'p' } }] } },
    { name: 'd', secret: { secretName: 'v' } },
    { name: 'e', azureFile: { secretName: 'z', shareName: 'x' } },
  ];
  const named = asksOf({ spec: { serviceAccountName: 'x', volumes } }).map(({ kind, value }) => `${kind} ${value}`);

  expect(named).toEqual([
    'field spec.serviceAccountName',
    'field spec.volumes',
    'serviceAccount x',
    'secret s',
    'image i',
    'secret p',
    'secret v',
    'secret z',
  ]);
});

it('asksOf asks for nothing by null', () => {
  expect(asksOf({ metadata: null, spec: { serviceAccountName: null } })).toEqual([]);
});
