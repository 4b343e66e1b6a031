import { expect, it } from 'vitest';
import type { SecretReader } from '../../../src/clients/tokens/api-token.ts';
import type { TargetOf } from '../../../src/plan/find-targets.ts';
import { openTargetBook } from '../../../src/serve/looks/targets.ts';
import type { LiveGroup } from '../../../src/serve/seen/live.ts';
import { Failure } from '../../../src/shared/failure.ts';
import { runnerGroup } from '../../support/runner-group.ts';

const HERE = new URL('https://gitea.example.com/api/v1/version');
const UNANSWERED = new Failure('GR-HTTP-09', 1, 'read Secret gitea-api of namespace runners: too late.', 'timeout');
const FORBIDDEN = new Failure('GR-TOKEN-09', 1, 'read Secret gitea-api of namespace runners: refused.', 'token-unseen');

/** Secrets that hold one token, or cannot be read; counts how often they are asked. */
function cluster() {
  const state: { answer: string | Failure; reads: number } = { answer: 'first-token', reads: 0 };
  const secrets: SecretReader = {
    read: async () => {
      state.reads += 1;
      const { answer } = state;
      if (answer instanceof Failure) throw answer;
      return (key) => (key === 'url' ? 'https://gitea.example.com' : answer);
    },
    readUrl: async () => undefined,
  };
  const book = openTargetBook(() => ({ secretsDir: '/nowhere', env: {}, clusterSecrets: secrets }), 'argocd');
  return { state, book };
}

const group = runnerGroup();
const only: LiveGroup = {
  key: 'runners/ci',
  group,
  object: { metadata: { namespace: 'runners', name: 'ci', uid: 'u' } },
};
const live = [only];

function targetIn(found: TargetOf) {
  const target = found.get(group);
  if (target === undefined || target instanceof Failure) throw new Error('no target');
  return target;
}

const tokenIn = (found: TargetOf): string => targetIn(found).token.headerFor(HERE);

it('the looks that groups need stay the same for 30 s, and their tokens are read again then', async () => {
  const { state, book } = cluster();

  const first = await book.resolve(live, 1_000);
  const second = await book.resolve(live, 30_999);
  const third = await book.resolve(live, 31_000);

  expect(second).toBe(first);
  expect(targetIn(third)).toBe(targetIn(first));
  expect(state.reads).toBe(2);
});

it('the looks that groups need are read again when the clock was set back', async () => {
  const { state, book } = cluster();
  await book.resolve(live, 3_600_000);
  await book.resolve(live, 0);
  await book.resolve(live, 1);

  expect(state.reads).toBe(2);
});

it('the looks that groups need get the new token at once when Gitea has refused the old one', async () => {
  const { state, book } = cluster();
  const first = await book.resolve(live, 0);
  state.answer = 'second-token';
  book.looked(targetIn(first), true);

  const second = await book.resolve(live, 1);

  expect(tokenIn(second)).toBe('token second-token');
  expect(targetIn(second).key).not.toBe(targetIn(first).key);
});

it('the looks that groups need read everything while a group keeps a warm pool, under the same key', async () => {
  const { book } = cluster();
  const withPool = (minIdleRunners: number, suspend = false) => [
    { ...only, group: runnerGroup({ minIdleRunners, suspend }) },
    { ...only, key: 'runners/other', group: runnerGroup({ name: 'other' }) },
  ];

  const marks: unknown[] = [];
  for (const groups of [live, withPool(1), withPool(1), withPool(2, true), withPool(0)]) {
    await book.resolve(groups, 1_000);
    marks.push(book.targets().map(({ key, hasPool }) => [key, hasPool]));
  }

  expect(marks).toEqual([undefined, true, true, undefined, undefined].map((mark) => [['look 1', mark]]));
});

it('the looks that groups need have the labels of all their groups, and stay the same object while these do', async () => {
  const { book } = cluster();
  const withLabels = (...labels: readonly string[]) =>
    labels.map((name) => ({
      ...only,
      key: `runners/${name}`,
      group: runnerGroup({ name, labels: [{ name, text: `${name}:host` }] }),
    }));

  const found: unknown[] = [];
  for (const groups of [withLabels('a', 'b'), withLabels('b', 'a'), withLabels('a', 'c')]) {
    await book.resolve(groups, 1_000);
    found.push(book.targets()[0]);
  }

  expect(found[0]).toMatchObject({ labels: new Set(['a', 'b']) });
  expect(found[1]).toBe(found[0]);
  expect(found[2]).toMatchObject({ key: book.targets()[0]?.key, labels: new Set(['a', 'c']) });
});

it('the looks that groups need are asked for a refused token every 5 s, until a look succeeds', async () => {
  const { state, book } = cluster();
  const target = targetIn(await book.resolve(live, 0));

  for (const nowMs of [1, 2, 5_000, 5_001, 5_002]) {
    book.looked(target, true);
    await book.resolve(live, nowMs);
  }
  expect(state.reads).toBe(3);
  book.looked(target, false);
  await book.resolve(live, 20_000);

  expect(state.reads).toBe(3);
});

it('the looks that groups need keep their token while the API server does not answer', async () => {
  const { state, book } = cluster();
  const first = await book.resolve(live, 0);
  state.answer = UNANSWERED;

  const second = await book.resolve(live, 30_000);

  expect(targetIn(second)).toBe(targetIn(first));
});

it.each([FORBIDDEN, UNANSWERED])('looks fail alone, and are tried again after 5 s: %s', async (failure) => {
  const { state, book } = cluster();
  state.answer = failure;

  const first = await book.resolve(live, 0);
  const second = await book.resolve(live, 4_999);
  state.answer = 'first-token';
  const third = await book.resolve(live, 5_000);

  expect(first.get(group)).toBe(failure);
  expect(second).toBe(first);
  expect(tokenIn(third)).toBe('token first-token');
});

it('looks fail when a Secret may not be read any more', async () => {
  const { state, book } = cluster();
  await book.resolve(live, 0);
  state.answer = FORBIDDEN;

  expect((await book.resolve(live, 30_000)).get(group)).toBe(FORBIDDEN);
});
