import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { applicationKey, applicationOf, type ObjectRef } from '../../../src/clients/argocd/application.ts';

const GROUP: ObjectRef = { group: 'gitea.bpg.pw', kind: 'RunnerGroup', namespace: 'runners', name: 'ci' };

it.each([
  ['my-app:gitea.bpg.pw/RunnerGroup:runners/ci', GROUP, { name: 'my-app' }],
  ['team-a_my.app:gitea.bpg.pw/RunnerGroup:runners/ci', GROUP, { namespace: 'team-a', name: 'my.app' }],
  ['app:/Secret:runners/ci', { ...GROUP, group: '', kind: 'Secret' }, { name: 'app' }],
])('the Application of an object is the one of its tracking id %s', (trackingId, object, application) => {
  expect(applicationOf(trackingId, object)).toEqual(application);
});

it('the Application of an object is unknown without an annotation', () => {
  expect(applicationOf(undefined, GROUP)).toBeUndefined();
});

it.each([
  ['nothing', ''],
  ['two parts', 'app:gitea.bpg.pw/RunnerGroup'],
  ['four parts', 'app:gitea.bpg.pw/RunnerGroup:runners/ci:x'],
  ['no Kind', 'app:RunnerGroup:runners/ci'],
  ['no namespace', 'app:gitea.bpg.pw/RunnerGroup:/ci'],
  ['two underscores', 'a_b_c:gitea.bpg.pw/RunnerGroup:runners/ci'],
  ['an empty Application', ':gitea.bpg.pw/RunnerGroup:runners/ci'],
  ['an empty namespace of the Application', '_app:gitea.bpg.pw/RunnerGroup:runners/ci'],
  ['a path', '../../app:gitea.bpg.pw/RunnerGroup:runners/ci'],
  ['a query', 'app?x=1:gitea.bpg.pw/RunnerGroup:runners/ci'],
  ['a line break', 'app\n:gitea.bpg.pw/RunnerGroup:runners/ci'],
  ['a line break at the end', 'app:gitea.bpg.pw/RunnerGroup:runners/ci\n'],
  ['upper case', 'App:gitea.bpg.pw/RunnerGroup:runners/ci'],
  ['an encoded slash', 'a%2fb:gitea.bpg.pw/RunnerGroup:runners/ci'],
  ['a name that is too long', `${'a'.repeat(254)}:gitea.bpg.pw/RunnerGroup:runners/ci`],
  ['no end', 'a'.repeat(1_000_000)],
])('the Application of an object is unknown when the annotation holds %s', (_, text) => {
  expect(applicationOf(text, GROUP)).toBeUndefined();
});

it('the Application of an object is read back as it was written', () => {
  const name = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?$/);
  fc.assert(
    fc.property(name, fc.option(name, { nil: undefined }), name, name, (app, appNamespace, namespace, object) => {
      const instance = appNamespace === undefined ? app : `${appNamespace}_${app}`;

      expect(
        applicationOf(`${instance}:gitea.bpg.pw/RunnerGroup:${namespace}/${object}`, {
          ...GROUP,
          namespace,
          name: object,
        }),
      ).toEqual({ ...(appNamespace !== undefined && { namespace: appNamespace }), name: app });
    }),
  );
});

it.each([
  'my-app:gitea.bpg.pw/RunnerGroup:runners/other',
  'my-app:gitea.bpg.pw/RunnerGroup:elsewhere/ci',
  'my-app:batch/Job:runners/ci',
])(
  'the Application of an object is unknown when the tracking id is that of another object, as in a copy: %s',
  (trackingId) => {
    expect(applicationOf(trackingId, GROUP)).toBeUndefined();
  },
);

it('the Application of an object has one key, whether its namespace is written out or not', () => {
  expect(applicationKey({ name: 'a' }, 'argocd')).toBe(applicationKey({ namespace: 'argocd', name: 'a' }, 'argocd'));
  expect(applicationKey({ namespace: 'team', name: 'a' }, 'argocd')).not.toBe(applicationKey({ name: 'a' }, 'argocd'));
});
