import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type ApplicationRef,
  applicationKey,
  applicationOf,
  type ObjectRef,
  parseTrackingId,
} from '../../../src/clients/argocd/application.ts';

const GROUP: ObjectRef = { group: 'gitea.bpg.pw', kind: 'RunnerGroup', namespace: 'runners', name: 'ci' };

describe('a tracking id', () => {
  it('names the Application in the control-plane namespace and the object', () => {
    expect(parseTrackingId('my-app:gitea.bpg.pw/RunnerGroup:runners/ci')).toEqual({
      application: { name: 'my-app' },
      object: GROUP,
    });
  });

  it('names an Application elsewhere by namespace and name', () => {
    expect(parseTrackingId('team-a_my.app:gitea.bpg.pw/RunnerGroup:runners/ci')?.application).toEqual({
      namespace: 'team-a',
      name: 'my.app',
    });
  });

  it('may be of the core API, which has no group', () => {
    expect(parseTrackingId('app:/Secret:runners/ci')?.object.group).toBe('');
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
  ])('is refused when it holds %s', (_, text) => {
    expect(parseTrackingId(text)).toBeUndefined();
  });

  it('is read back as it was written, and nothing else is read at all', () => {
    const name = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?$/);
    fc.assert(
      fc.property(name, fc.option(name, { nil: undefined }), name, name, (app, appNamespace, namespace, object) => {
        const instance = appNamespace === undefined ? app : `${appNamespace}_${app}`;
        const application: ApplicationRef =
          appNamespace === undefined ? { name: app } : { namespace: appNamespace, name: app };

        expect(parseTrackingId(`${instance}:gitea.bpg.pw/RunnerGroup:${namespace}/${object}`)).toEqual({
          application,
          object: { ...GROUP, namespace, name: object },
        });
      }),
    );
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const read = parseTrackingId(text);

        expect(read === undefined || /^[a-z0-9._-]+$/.test(read.application.name)).toBe(true);
      }),
    );
  });
});

describe('the Application of an object', () => {
  it('is the one of its own tracking id', () => {
    expect(applicationOf('my-app:gitea.bpg.pw/RunnerGroup:runners/ci', GROUP)).toEqual({ name: 'my-app' });
  });

  it('is unknown without an annotation', () => {
    expect(applicationOf(undefined, GROUP)).toBeUndefined();
  });

  it.each([
    'my-app:gitea.bpg.pw/RunnerGroup:runners/other',
    'my-app:gitea.bpg.pw/RunnerGroup:elsewhere/ci',
    'my-app:batch/Job:runners/ci',
  ])('is unknown when the tracking id is that of another object, as in a copy: %s', (trackingId) => {
    expect(applicationOf(trackingId, GROUP)).toBeUndefined();
  });

  it('has one key, whether its namespace is written out or not', () => {
    expect(applicationKey({ name: 'a' }, 'argocd')).toBe(applicationKey({ namespace: 'argocd', name: 'a' }, 'argocd'));
    expect(applicationKey({ namespace: 'team', name: 'a' }, 'argocd')).not.toBe(
      applicationKey({ name: 'a' }, 'argocd'),
    );
  });
});
