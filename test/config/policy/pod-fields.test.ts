/** Every field of a pod of Kubernetes has its fate (law T15). A new field of Kubernetes fails here until somebody has decided about it. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { fieldsOf } from '../../../src/config/pods/pod-schema.ts';
import { runnerGroupFromObject } from '../../../src/config/runnergroup/from-object.ts';
import { denialsOf } from './support.ts';

const MANUAL = readFileSync('docs/policy.md', 'utf8');

/**
 * `reserved`: src/config/pods/reserved.ts. `judged`: by a securityProfile, or by a rule of the policy. `table`: only podTemplateFields can forbid
 * it, as the manual says. `allowed`: it gives the pod nothing that others have.
 */
const FATES: Readonly<Record<string, Readonly<Record<'reserved' | 'judged' | 'table' | 'allowed', string>>>> = {
  PodSpec: {
    reserved:
      'activeDeadlineSeconds automountServiceAccountToken ephemeralContainers hostIPC hostNetwork hostPID nodeName os priority restartPolicy serviceAccount shareProcessNamespace terminationGracePeriodSeconds',
    judged:
      'containers dnsConfig dnsPolicy hostAliases imagePullSecrets initContainers priorityClassName resources securityContext serviceAccountName volumes',
    table:
      'affinity hostname hostnameOverride nodeSelector overhead resourceClaims runtimeClassName schedulerName setHostnameAsFQDN subdomain tolerations topologySpreadConstraints',
    allowed: 'enableServiceLinks hostUsers preemptionPolicy readinessGates schedulingGates',
  },
  Volume: {
    reserved: '',
    judged:
      'awsElasticBlockStore azureDisk azureFile cephfs cinder fc flexVolume flocker gcePersistentDisk gitRepo glusterfs hostPath image iscsi nfs photonPersistentDisk portworxVolume quobyte rbd scaleIO secret storageos vsphereVolume',
    table: 'configMap csi emptyDir ephemeral persistentVolumeClaim projected',
    allowed: 'downwardAPI name',
  },
  Container: {
    reserved: 'restartPolicyRules',
    judged: 'image ports resources securityContext',
    table: 'env envFrom',
    allowed:
      'args command imagePullPolicy lifecycle livenessProbe name readinessProbe resizePolicy restartPolicy startupProbe stdin stdinOnce terminationMessagePath terminationMessagePolicy tty volumeDevices volumeMounts workingDir',
  },
};
const wordsOf = (text: string): readonly string[] => text.split(' ').filter((word) => word !== '');

describe.each(Object.entries(FATES))('of %s', (struct, fates) => {
  it('each field has one fate', () => {
    const decided = Object.values(fates).flatMap(wordsOf);

    expect([...decided].sort()).toEqual([...fieldsOf(struct).keys()].sort());
  });

  it.each(wordsOf(fates.table))('%s stands in the table of the manual', (field) => {
    const [, table = ''] = MANUAL.split('**Fields that only `podTemplateFields` can forbid.**');
    expect(table.split('\n\n').slice(0, 2).join()).toMatch(new RegExp(`\`(?:[\\w.]+\\.)?${field}\``));
  });
});

it('people are sent to a podTemplate only with fields that it may have', () => {
  const sent = [...fieldsOf('PodSpec').keys(), ...fieldsOf('Container').keys()].filter((field) => {
    const read = runnerGroupFromObject({ namespace: 'runners', name: 'ci', spec: { [field]: 'x' } });
    return 'problem' in read && read.problem.includes(`${field}: …`);
  });
  const reserved = [FATES['PodSpec'], FATES['Container']].flatMap((fates) => wordsOf(fates?.reserved ?? ''));

  expect(sent.length).toBeGreaterThan(15);
  expect(sent.filter((field) => reserved.includes(field))).toEqual([]);
});

const [, list = ''] = /podTemplateFields:\n((?: +- \S+\n)+)/.exec(MANUAL) ?? [];
const podTemplateFields = [...list.matchAll(/- (\S+)/g)].map(([, field = '']) => field);
const denied = (spec: object) => denialsOf({ podTemplateFields }, { podTemplate: { spec } });

it('the list for tenants nobody trusts allows resources and variables of the runner', () => {
  const runner = { name: 'runner', env: [{ name: 'A', value: 'b' }], resources: { requests: { cpu: '1' } } };

  expect(denied({ containers: [runner] })).toEqual([]);
});

it.each<[string, object]>([
  ['runtimeClassName', { runtimeClassName: 'runc' }],
  ['nodeSelector', { nodeSelector: { team: 'other' } }],
  ['affinity', { affinity: { podAntiAffinity: {} } }],
  ['schedulerName', { schedulerName: 'other' }],
  ['subdomain', { subdomain: 'x' }],
  ['hostnameOverride', { hostnameOverride: 'x' }],
  ['seccompProfile', { securityContext: { seccompProfile: { type: 'Localhost', localhostProfile: 'x' } } }],
  ...['emptyDir', 'ephemeral', 'csi', 'configMap'].map((source): [string, object] => [
    source,
    { volumes: [{ name: 'x', [source]: source === 'csi' ? { driver: 'x' } : {} }] },
  ]),
])('the list for tenants nobody trusts denies %s', (_, spec) => {
  expect(denied(spec).join()).toMatch(/^podTemplateFields spec\.podTemplate\.spec/);
});
