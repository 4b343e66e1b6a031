import { describe, expect, test } from 'vitest';
import { readJobPage, readRunnerPage, toAttempt, toJobStatus } from '../../../src/clients/gitea/shapes.ts';
import { judgeVersion, type VersionFacts } from '../../../src/clients/gitea/version.ts';
import { EPOCH, jobRow, runnerRow } from '../../support/gitea-stand-in.ts';

const V26: VersionFacts = { text: '1.26.0', sortsJobs: false, attemptGrowsAtClaim: true, endsRuns: false };
const NOW = Date.parse('2026-08-01T12:00:00Z');
const V27: VersionFacts = { text: '1.27.0', sortsJobs: true, attemptGrowsAtClaim: false, endsRuns: false };

test.each([
  ['1.25.0', '1.25.0', false],
  ['v1.25.4', '1.25.4', false],
  ['1.26.4', '1.26.4', false],
  ['1.27.0+dev-123-gabc', '1.27.0', true],
  ['1.27.0~rc1', '1.27.0', true],
  ['1.28.0-rc0', '1.28.0', true],
  ['1.26.0+rc0', '1.26.0', false],
  ['28.0.0', '28.0.0', true],
  ['25.4.0', '25.4.0', false],
  ['26.8.1', '26.8.1', false],
  ['27.0.0', '27.0.0', true],
])('judgeVersion takes %s as %s; sorts jobs: %s', (text, found, sorts) => {
  expect(judgeVersion(text)).toEqual({
    text: found,
    sortsJobs: sorts,
    attemptGrowsAtClaim: !sorts,
    endsRuns: found === '28.0.0',
  });
});

test.each(['1.24.9', '0.99.0', '1.9.0', '1.3.0', '2.0.0', '23.8.0', '24.7.0'])(
  'judgeVersion refuses %s as too old',
  (text) => {
    expect(judgeVersion(text)).toMatchObject({ code: 'GR-GITEA-11' });
  },
);

test.each([
  '',
  'main',
  '1.27',
  '1.27.0.1',
  '1.27.0 (\u001b[31m)',
  ' 1.27.0',
  '1.27.0\n',
  '99999.1.1',
  '1.27.0+<script>',
  `1.27.0+${'a'.repeat(200)}`,
])('judgeVersion does not guess what %j means', (text) => {
  expect(judgeVersion(text)).toMatchObject({ code: 'GR-GITEA-13' });
});

test.each(['11.0.1+gitea-1.22.0', '7.0.0-dev-12-abc+gitea-1.22.0'])('judgeVersion knows Forgejo by %s', (text) => {
  expect(judgeVersion(text)).toMatchObject({ code: 'GR-GITEA-12' });
});

test.each([
  ['queued', 'queued'],
  ['in_progress', 'in_progress'],
  ['completed', 'completed'],
  ['waiting', 'blocked'],
  ['pending', 'blocked'],
  ['requested', 'blocked'],
  ['Queued', 'blocked'],
  ['toString', 'blocked'],
] as const)('toJobStatus takes %s as %s', (word, status) => {
  expect(toJobStatus(word)).toBe(status);
});

test('an attempt is never below 0: a job cancelled in the queue was never claimed', () => {
  expect(toAttempt(0, 'completed', V26)).toBe(0);
});

describe('job rows', () => {
  const read = (fields: Readonly<Record<string, unknown>>, status = 'queued') =>
    readJobPage({ jobs: [jobRow(7, status, fields)], total_count: 1 }, V27, NOW).rows[0];

  test('become jobs', () => {
    expect(read({ runner_id: 3, runner_name: 'r' }, 'completed')).toEqual({
      id: 7,
      attempt: 1,
      runId: 5,
      repository: 'acme/web',
      branch: '',
      name: 'build 7',
      url: 'https://gitea.example.com/acme/web/actions/runs/5/jobs/7',
      labels: ['ubuntu-latest'],
      status: 'completed',
      createdAtMs: Date.parse('2026-08-01T10:00:00Z'),
      startedAtMs: Date.parse('2026-08-01T10:01:00Z'),
      completedAtMs: Date.parse('2026-08-01T10:02:00Z'),
      runner: 'r',
    });
  });

  test('job rows are of the branch that Gitea names, of none without one, and of an unknown one when its name is too long', () => {
    expect(read({ head_branch: 'fix/a' })?.branch).toBe('fix/a');
    expect([read({ head_branch: '' })?.branch, read({})?.branch]).toEqual(['', '']);
    expect(read({ head_branch: 'b'.repeat(255) })?.branch).toHaveLength(255);
    expect(read({ head_branch: 'b'.repeat(256) })).not.toHaveProperty('branch');
  });

  test('job rows are of the commit whose first seven characters people know, and of none when Gitea names no hash', () => {
    expect(read({ head_sha: '3f2a91c4d147537b1ada5b5440731021b4577077' })?.commit).toBe('3f2a91c');
    for (const head_sha of ['', '3f2a', '<i>evil</i>', null]) expect(read({ head_sha })).not.toHaveProperty('commit');
  });

  test.each<[field: string, ...wrong: readonly unknown[]]>([
    ['id', undefined, null, '17', [17], 0, -7, 17.5, 2 ** 53],
    ['run_id', undefined, '5', 0],
    ['run_attempt', undefined, '1', -1, 0.5, 100_000],
    ['status', undefined, ['queued'], ''],
    ['name', undefined, 5, {}],
    ['labels', undefined, 'linux', { length: 1, 0: 'linux' }, [null], ['gpu', 7]],
    ['url', undefined, null, ['x']],
    ['run_url', undefined, null],
    ['html_url', undefined, null],
    ['runner_name', null, 9],
    ['head_branch', null, 7],
    ['head_sha', 7],
    ['created_at', undefined, null, 1_785_578_400, 'yesterday', '2026-08-01', '2026-02-31T10:00:00Z', ''],
    ['started_at', undefined, 'soon'],
    ['completed_at', undefined, 'soon'],
  ])('job rows are refused without a good %s', (field, ...wrong) => {
    for (const value of wrong) expect(() => read({ [field]: value }), String(value)).toThrow(`no usable "${field}`);
  });

  test('job rows may have unknown fields', () => {
    expect(read({ new_in_1_30: { deep: true } })?.id).toBe(7);
  });

  test('a job row without labels has none, whether Gitea writes null or a list', () => {
    expect([read({ labels: null })?.labels, read({ labels: [] })?.labels]).toEqual([[], []]);
  });

  test.each([
    EPOCH,
    '2014-12-31T23:59:59Z',
    '2026-08-02T12:00:01Z',
    // A time more than a day before the job was created.
    '2026-07-31T09:59:59Z',
  ])('job rows have no start when it is %s', (started_at) => {
    expect(read({ started_at }, 'in_progress')).not.toHaveProperty('startedAtMs');
  });

  test('job rows have no end that is more than a day before their start', () => {
    expect(read({ completed_at: '2026-07-31T10:00:59Z' }, 'completed')).not.toHaveProperty('completedAtMs');
    expect(read({ completed_at: '2026-07-31T10:01:00Z' }, 'completed')).toHaveProperty('completedAtMs');
  });

  test.each(['queued', 'in_progress', 'waiting'])(
    'job rows that are %s must have been created between 2015 and tomorrow',
    (status) => {
      for (const created_at of ['0001-01-01T00:00:00Z', '2014-12-31T23:59:59Z', '2026-08-02T12:00:01Z']) {
        expect(() => read({ created_at }, status)).toThrow(
          'job 7 has a "created_at" before 2015, or more than a day ahead of the clock of this machine',
        );
      }
      expect(read({ created_at: '2015-01-01T00:00:00Z' }, status)?.createdAtMs).toBe(Date.UTC(2015, 0, 1));
      expect(read({ created_at: '2026-08-02T12:00:00Z' }, status)?.createdAtMs).toBe(NOW + 24 * 3_600_000);
    },
  );

  test('job rows that are completed were created at the next best time when theirs cannot be', () => {
    const ended = { created_at: EPOCH, started_at: EPOCH };
    expect(read({ created_at: EPOCH }, 'completed')?.createdAtMs).toBe(Date.parse('2026-08-01T10:01:00Z'));
    expect(read(ended, 'completed')?.createdAtMs).toBe(Date.parse('2026-08-01T10:02:00Z'));
    expect(read({ ...ended, completed_at: EPOCH }, 'completed')?.createdAtMs).toBe(NOW);
  });

  test('job rows have a runner only once claimed, and only with a name', () => {
    expect(read({ runner_name: 'r' }, 'queued')).not.toHaveProperty('runner');
    expect(read({ runner_name: '' }, 'in_progress')).not.toHaveProperty('runner');
    expect(read({ runner_name: 'r' }, 'in_progress')?.runner).toBe('r');
  });

  test.each([
    ['https://git.example.com/sub/path/api/v1/repos/acme/web/actions/jobs/7', 'acme/web'],
    ['https://g/api/v1/repos/a/b/api/v1/repos/acme/web.js_-/actions/jobs/7', 'acme/web.js_-'],
    ['http://g/api/v1/repos/%61cme/w%2Deb/actions/jobs/7', 'acme/w-eb'],
  ])('give their repository: %s', (url, repository) => {
    expect(read({ url })?.repository).toBe(repository);
  });

  test('give their repository by run_url when url is empty', () => {
    expect(read({ url: '' })?.repository).toBe('acme/web');
    expect(() => read({ url: '', run_url: '' })).toThrow('job 7 has no usable "run_url"');
  });

  test.each([
    'https://g/api/v1/repos/acme/actions/jobs/7',
    'https://g/api/v1/repos/a%2Fb/web/actions/jobs/7',
    'https://g/api/v1/repos/../web/actions/jobs/7',
    'https://g/api/v1/repos/acme/%0Aweb/actions/jobs/7',
    'https://g/api/v1/repos/acme/web/actions/jobs/7?x=/api/v1/repos/a/b/',
    'https://g/acme/web',
    `https://g/api/v1/repos/acme/${'w'.repeat(101)}/actions/jobs/7`,
  ])('job rows are refused when their repository is %s', (url) => {
    expect(() => read({ url })).toThrow('job 7 has no usable "url"');
  });

  test('keep hostile names as data', () => {
    const name = '"\n---\nkind: Secret \u001b[2J \u0000';
    expect(read({ name, labels: [name] })).toMatchObject({ name, labels: [name] });
  });

  test('job rows may have no page for people, but no other kind of link', () => {
    expect(read({ html_url: '' })?.url).toBe('');
    for (const html_url of ['data:text/html,x', 'javascript:alert(1)', 'file:///etc/passwd', 'http://', '/relative'])
      expect(() => read({ html_url })).toThrow('job 7 has no usable "html_url"');
    expect(read({ html_url: 'https://g/a b\n"' })?.url).toBe('https://g/a%20b%22');
  });
});

describe('runner rows', () => {
  const read = (fields: Readonly<Record<string, unknown>>) => {
    const [row] = readRunnerPage({ runners: [runnerRow(1, 'a', fields)], total_count: 1 }).rows;
    if (!row) throw new Error('no row');
    return row;
  };

  test('runner rows are online by that word alone', () => {
    expect([read({}).online, read({ status: 'Online' }).online]).toEqual([true, false]);
  });

  test('runner rows may have no labels, and up to 1.25 do not say whether they are disabled', () => {
    expect(read({ labels: null, disabled: undefined })).toMatchObject({ labels: [], disabled: false });
  });

  test.each<[field: string, ...wrong: readonly unknown[]]>([
    ['id', undefined, '4', -4],
    ['name', undefined, null],
    ['status', undefined, 1],
    ['busy', undefined, 1],
    ['ephemeral', undefined],
    ['disabled', 1],
    ['labels', undefined, 'linux', ['linux']],
  ])('runner rows are refused without a good %s', (field, ...wrong) => {
    for (const value of wrong) expect(() => read({ [field]: value }), String(value)).toThrow(`no usable "${field}`);
  });
});
