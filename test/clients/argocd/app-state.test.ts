import { describe, expect, it } from 'vitest';
import { AppShapeError, operationWords, readApplication } from '../../../src/clients/argocd/app-state.ts';
import { application, status } from '../../support/fake-argocd.ts';

const GROUP = { group: 'gitea.bpg.pw', kind: 'RunnerGroup', namespace: 'runners', name: 'ci' };

function withConditions(...conditions: readonly object[]): object {
  return application(status('OutOfSync', { conditions }));
}

it('an Application is read with its state and last operation', () => {
  const state = readApplication(
    application(
      status('OutOfSync', {
        reconciledAt: '2026-11-20T10:00:05Z',
        operationState: {
          phase: 'Failed',
          message: 'one or more objects failed to apply',
          startedAt: '2026-11-20T09:00:00Z',
          finishedAt: '2026-11-20T09:00:02Z',
        },
      }),
    ),
  );

  expect(state).toMatchObject({
    name: 'runners',
    namespace: 'argocd',
    sync: 'OutOfSync',
    health: 'Healthy',
    errors: [],
    operation: { phase: 'Failed', message: 'one or more objects failed to apply' },
    reconciledAtMs: Date.parse('2026-11-20T10:00:05Z'),
    refreshPending: false,
  });
});

it('an Application is Unknown and manages nothing before Argo CD has looked at it', () => {
  const state = readApplication({ metadata: { name: 'runners', namespace: 'argocd' }, spec: {}, status: {} });

  expect(state).toMatchObject({ sync: 'Unknown', errors: [] });
  expect(state.manages(GROUP)).toBe(false);
});

it('the fields of an Application are an annotation while a refresh is under way, a time in any zone, an operation without a message, and no time', () => {
  const pending = application(status('Synced'), { 'argocd.argoproj.io/refresh': 'normal' });
  expect(readApplication(pending).refreshPending).toBe(true);

  const operationState = { phase: 'Running', startedAt: '2026-11-20T09:00:00Z' };
  const state = readApplication(
    application(status('Synced', { reconciledAt: '2026-11-20T12:00:05+02:00', operationState })),
  );

  expect(state.reconciledAtMs).toBe(Date.parse('2026-11-20T10:00:05Z'));
  const startedAtMs = Date.parse(operationState.startedAt);
  expect(state.operation).toEqual({ phase: 'Running', message: '', startedAtMs });
  expect(readApplication(application(status('Synced', { reconciledAt: null })))).not.toHaveProperty('reconciledAtMs');
});

it('the fields of an Application are names of 1 to 253 characters', () => {
  for (const field of ['name', 'namespace']) {
    const read = (value: string) => readApplication({ metadata: { name: 'a', namespace: 'b', [field]: value } });
    expect(read('x')).toMatchObject({ [field]: 'x' });
    expect(read('x'.repeat(253))).toMatchObject({ [field]: 'x'.repeat(253) });
    expect(() => read('x'.repeat(254))).toThrow(`no usable metadata.${field}`);
    expect(() => read('')).toThrow(`no usable metadata.${field}`);
  }
});

it('the fields of an Application are words without space around them, whole up to 60 characters, else their first and last', () => {
  const health = (text: string) => readApplication(application({ health: { status: text } })).health;

  expect(health('  Healthy ')).toBe('Healthy');
  expect(health('x'.repeat(60))).toBe('x'.repeat(60));
  expect(health(`${'a'.repeat(40)}${'b'.repeat(40)}`)).toBe(`${'a'.repeat(20)} … ${'b'.repeat(37)}`);
});

describe('what an Application manages', () => {
  const state = readApplication(
    application({
      resources: [
        { group: 'gitea.bpg.pw', kind: 'RunnerGroup', namespace: 'runners', name: 'ci', requiresPruning: true },
        { group: 'gitea.bpg.pw', kind: 'RunnerGroup', namespace: 'runners', name: 'hook', hook: true },
        { kind: 'Secret', namespace: 'runners', name: 'ci' },
        {},
      ],
    }),
  );

  it('an object that an Application manages is a resource of the same group, kind, namespace and name, also one that waits to be pruned', () => {
    expect(state.manages(GROUP)).toBe(true);
    expect(state.manages({ group: '', kind: 'Secret', namespace: 'runners', name: 'ci' })).toBe(true);
  });

  it.each([
    { ...GROUP, group: 'example.com' },
    { ...GROUP, kind: 'Other' },
    { ...GROUP, namespace: 'elsewhere' },
    { ...GROUP, name: 'other' },
    { ...GROUP, name: 'hook' },
    { ...GROUP, namespace: '', name: '' },
  ])('an object that an Application manages is not $group/$kind $namespace/$name', (object) => {
    expect(state.manages(object)).toBe(false);
  });
});

describe('errors of an Application', () => {
  it.each([
    ['ComparisonError', true],
    ['InvalidSpecError', true],
    ['UnknownError', true],
    ['SyncError', false],
    ['DeletionError', false],
  ])('%s stops a sync: %s', (type, stops) => {
    expect(readApplication(withConditions({ type, message: 'm' })).errors).toEqual([{ type, message: 'm', stops }]);
  });

  it('errors of an Application are not the warnings', () => {
    expect(readApplication(withConditions({ type: 'SharedResourceWarning', message: 'm' })).errors).toEqual([]);
  });

  it('errors of an Application are one printable line each', () => {
    const message = 'first\nsecond\u001b[31m\u202e';

    expect(readApplication(withConditions({ type: 'ComparisonError', message })).errors[0]?.message).toBe(
      'first second\\u{1b}[31m\\u{202e}',
    );
  });

  it('keep beginning and end when they are too long, also when escapes make them so', () => {
    for (const filler of ['x', '\u0007']) {
      const message = `Failed to load${filler.repeat(100_000)}GR-GITEA-01`;

      const shown = readApplication(withConditions({ type: 'ComparisonError', message })).errors[0]?.message ?? '';

      expect(shown.length).toBeLessThanOrEqual(600);
      expect(shown).toMatch(/^Failed to load.* … .*GR-GITEA-01$/);
    }
  });
});

describe('what Argo CD says besides', () => {
  const startedAt = '2026-11-20T09:00:00Z';
  const later = (seconds: number): number => Date.parse(startedAt) + seconds * 1_000;
  const operating = (operationState: object | undefined, operation: unknown = { sync: {} }) =>
    readApplication({ ...application(status('OutOfSync', { operationState })), operation });

  it('an operation that has failed has the first reason of its objects, unless its message has it', () => {
    const refused = 'resource batch:Job is not permitted in project runners.';
    const resources = [
      { status: 'Synced', message: 'created' },
      { status: 'SyncFailed', message: refused },
    ];
    const said = (message: string) =>
      operating({ phase: 'Failed', message, syncResult: { resources } }, null).operation?.message;

    expect(said('one or more synchronization tasks are not valid')).toBe(
      `one or more synchronization tasks are not valid: ${refused}`,
    );
    expect(said(`failed to apply, reason: ${refused}`)).toBe(`failed to apply, reason: ${refused}`);
  });

  it('a warning of Argo CD is each condition that is no error, in its own words, the first three of them', () => {
    const types = ['SharedResourceWarning', 'ExcludedResourceWarning', 'FrobnicatedNotice', 'OrphanedResourceWarning'];
    const conditions = types.map((type) => ({ type, message: `words of ${type}\n` }));
    const { errors, warnings } = readApplication(application(status('Synced', { conditions })));

    expect(errors).toEqual([]);
    expect(warnings).toEqual(types.slice(0, 3).map((type) => `${type}: words of ${type}`));
    const many = [...Array(4).fill(types[0]), types[1]].map((type, nth) => ({ type, message: `${nth}` }));
    expect(readApplication(application(status('Synced', { conditions: many }))).warnings).toEqual([
      `${types[0]}: 0`,
      `${types[1]}: 4`,
      `${types[0]}: 1`,
    ]);
  });

  it.each([
    ['PruneLast=true', 'no other runner starts'],
    ['Replace=true', 'its CI job dies'],
    ['Force=true', 'its CI job dies'],
    ['Prune=false', 'stay until they end'],
    ['Prune=confirm', 'until somebody confirms'],
  ])('a warning of Argo CD is followed by what its option %s does here', (option, harm) => {
    const syncOptions = ['ServerSideApply=true', option];
    const { warnings } = readApplication({ ...application(status('Synced')), spec: { syncPolicy: { syncOptions } } });

    expect(warnings).toEqual([expect.stringMatching(`^syncOptions has ${option}: .*${harm}`)]);
  });

  it('comes without what stands before the words of the plugin', () => {
    const before = 'Failed to load target state: rpc error: code = Unknown desc = error generating manifests: ';
    const said = (message: string) =>
      readApplication(application({ ...status('Unknown'), conditions: [{ type: 'ComparisonError', message }] }))
        .errors[0]?.message;

    expect(said(`${before}\`gitea-runners\` failed exit status 2: GR-INPUT-02 a.yaml:6:1: a tab`)).toBe(
      'GR-INPUT-02 a.yaml:6:1: a tab',
    );
    expect(said(`${before}zzz`)).toBe('error generating manifests: zzz');
    expect(said('`gitea-runners` failed exit status 2: ')).toBe('`gitea-runners` failed exit status 2:');
  });

  it('a warning of Argo CD is the message of an operation while it runs, since when, and how to end one that lasts', () => {
    const running = operating({ phase: 'Running', startedAt, message: 'waiting for completion of hook' });
    const words = 'an operation has been Running since 2026-11-20T09:00:00Z: waiting for completion of hook';

    expect(operationWords(running, later(180))).toEqual({ says: words });
    const end = 'argocd app terminate-op runners';
    expect(operationWords(running, later(181))).toEqual({ says: words, end, lastsMs: 181_000 });
  });

  it.each<[string, object | undefined, string]>([
    [
      'a word that nobody knew',
      { phase: 'Frobnicating', startedAt, message: 'soon' },
      'has been Frobnicating since .*: soon',
    ],
    ['no time that can be read', { phase: 'Running', startedAt: 'soon', message: '' }, 'is Running$'],
    ['nothing yet: it has not begun', undefined, 'is asked for and has not begun$'],
    [
      'nothing of the one before',
      { phase: 'Succeeded', startedAt, message: 'done' },
      'is asked for and has not begun$',
    ],
  ])('passes on %s', (_, operationState, told) => {
    expect(operationWords(operating(operationState), later(1))?.says).toMatch(new RegExp(`^an operation ${told}`));
  });

  it('a warning of Argo CD is nothing of an operation that is over', () => {
    const over = operating({ phase: 'Running', startedAt, message: 'left behind' }, null);

    expect(over.isOperating).toBe(false);
    expect(operationWords(over, later(900))).toBeUndefined();
  });

  it.each([
    ['true', true],
    ['1', true],
    ['false', false],
    ['yes', false],
  ])('a warning of Argo CD is that it is left alone, as Go reads a boolean: %s', (value, isTold) => {
    const { errors } = readApplication(application(status('Synced'), { 'argocd.argoproj.io/skip-reconcile': value }));
    const message = 'annotation argocd.argoproj.io/skip-reconcile: Argo CD leaves this Application alone';

    expect(errors).toEqual(isTold ? [{ type: 'Skipped', message, stops: true }] : []);
  });
});

it.each([
  ['an empty object', {}, 'metadata'],
  ['null', null, 'Application'],
  ['a list', { items: [] }, 'metadata'],
  ['an unknown sync state', application({ sync: { status: 'Fine' } }), 'status.sync.status'],
  ['a phase that is no word', application({ operationState: { phase: {} } }), 'phase'],
  ['a time that is none', application({ reconciledAt: 'yesterday' }), 'reconciledAt'],
  ['a message that is no text', withConditions({ type: 'ComparisonError', message: { secret: 'words' } }), 'message'],
  ['resources that are none', application({ resources: 'all' }), 'resources'],
])('what is no Application: %s is refused with the place only', (_, json, place) => {
  expect(() => readApplication(json)).toThrow(AppShapeError);
  expect(() => readApplication(json)).toThrow(place);
  expect(() => readApplication(json)).not.toThrow(/words|Fine|Odd|yesterday/);
});

const job = (name: string, over: object = {}) => {
  return { group: 'batch', kind: 'Job', version: 'v1', namespace: 'runners', name, status: 'Synced', ...over };
};

it('the Jobs that Argo CD has printed are those that it compares: no hook, none that is only to be pruned, none that it skips, no other kind', () => {
  const resources = [
    job('ci-1-1-0123abcd'),
    job('ci-2-1-0123abcd', { status: 'OutOfSync', health: { status: 'Missing' } }),
    job('ci-3-1-0123abcd', { status: 'OutOfSync', requiresPruning: true }),
    job('ci-4-1-0123abcd', { hook: true }),
    job('ci-5-1-0123abcd', { status: undefined }),
    job('ci-6-1-0123abcd', { status: 'Unknown' }),
    job('ci-7-1-0123abcd', { kind: 'CronJob' }),
    job('ci-8-1-0123abcd', { group: 'example.com' }),
  ];

  expect(readApplication(application(status('OutOfSync', { resources }))).jobs).toEqual([
    { namespace: 'runners', name: 'ci-1-1-0123abcd', outOfSync: false },
    { namespace: 'runners', name: 'ci-2-1-0123abcd', outOfSync: true },
  ]);
});

it('an error of a webhook with many lines is told in one line, and its policy by name', () => {
  const kyverno = `Failed last sync attempt to [3f2a91c]: one or more objects failed to apply, reason: admission webhook "validate.kyverno.svc-fail" denied the request: \n\nresource Job/runners/ci-1-1-0d2f6b1c was blocked due to the following policies \n\nrequire-run-as-nonroot:\n  autogen-run-as-non-root: 'validation error: ${'zzz '.repeat(200)}'`;
  const state = readApplication(withConditions({ type: 'SyncError', message: kyverno }));

  expect(state.errors[0]?.message).toMatch(
    /^admission webhook "validate.kyverno.svc-fail" denied the request: resource Job\/runners\/ci-1-1-0d2f6b1c was blocked due to the following policies require-run-as-nonroot: /,
  );
});
