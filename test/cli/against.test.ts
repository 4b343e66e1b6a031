/**
 * Tests that `validate --against` tells before a merge what happens to runners, and that `generate` then does it. Real
 * program, real servers.
 */
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { Comparison } from '../../src/plan/against.ts';
import { kubeconfigFor, startCluster } from '../clients/kubernetes/through-cli.ts';
import { podOf, runsSince } from '../support/kube-objects.ts';
import { folderWith, groupYaml, runHere } from '../support/run-cli.ts';
import { startAcme } from '../support/start-acme.ts';

const GITEA = 'https://gitea.example.com';
type Texts = Readonly<Record<string, string>>;

/** A folder with `base/` and `new/`. */
function sides(base: Texts, next: Texts): string {
  const below = (name: string, files: Texts): Texts =>
    Object.fromEntries(Object.entries(files).map(([file, text]) => [`${name}/${file}`, text]));
  return folderWith({ ...below('base', base), ...below('new', next) });
}

async function validate(base: Texts, next: Texts, ...words: readonly string[]) {
  return await runHere(['validate', '--against', 'base', 'new', ...words], {}, sides(base, next));
}

const BEFORE = groupYaml(GITEA);
const ci = (spec: string) => ({ 'ci.yaml': groupYaml(GITEA, spec) });

interface Told {
  readonly against: Comparison;
}

/**
 * `starting: replaced (replaced), prunes-it` for each state of each group that changes. `+`: a runner beyond what fits under the cap. In
 * brackets: the reason, why its job is held, and its heir.
 */
async function fates(base: Texts, next: Texts): Promise<readonly string[]> {
  const { code, stdout, stderr } = await validate(base, next, '-o', 'json');
  expect(code, stderr).toBe(0);
  return (JSON.parse(stdout) as Told).against.changes.flatMap(({ runners }) =>
    runners.map(({ now, isBeyond, lostLabels, outcome, because, jobHeld, heir, argocd }) => {
      const who = `${now}${isBeyond ? '+' : ''}${lostLabels ? ` ${lostLabels.join()}` : ''}`;
      return `${who}: ${outcome} (${[because, jobHeld, heir].filter(Boolean).join(', ')}), ${argocd}`;
    }),
  );
}

const STAYS = ['idle: stays (own-runner), nothing', 'busy: finishes (busy), nothing'];

it.each<[string, Texts, Texts, readonly string[]]>([
  [
    'a new image: who has not registered is replaced',
    ci(''),
    ci('  image: gitea/runner:2.0.0\n'),
    ['starting: replaced (replaced), prunes-it', ...STAYS],
  ],
  [
    'a longer pendingDeadlineSeconds: nobody is',
    ci(''),
    ci('  pendingDeadlineSeconds: 3000\n'),
    ['starting: stays (own-runner), nothing', ...STAYS],
  ],
  [
    'a smaller cap: those that do not fit go, but not at work',
    ci(''),
    { 'ci.yaml': BEFORE.replace('maxActiveRunners: 5', 'maxActiveRunners: 2') },
    [
      'starting: stays (own-runner), nothing',
      'starting+: removed (surplus, cap), prunes-it',
      'idle: stays (own-runner), nothing',
      'idle+: removed (surplus, cap), prunes-it',
      'busy: finishes (busy), nothing',
    ],
  ],
  [
    'a suspension',
    ci(''),
    ci('  suspend: true\n'),
    [
      'starting: removed (suspended, suspended), prunes-it',
      'idle: removed (suspended, suspended), prunes-it',
      'busy: finishes (busy), nothing',
    ],
  ],
  [
    'a label that goes',
    { 'ci.yaml': BEFORE.replace('"linux:host"', '"linux:host", "gpu:host"') },
    ci(''),
    [
      'starting: replaced (replaced), prunes-it',
      'starting gpu: removed (replaced, labels-not-covered), prunes-it',
      'idle: stays (own-runner), nothing',
      'idle gpu: removed (surplus, labels-not-covered), prunes-it',
      'busy: finishes (busy), nothing',
    ],
  ],
  [
    'a pool that is smaller, and failed jobs that are kept no more',
    ci('  minIdleRunners: 3\n  keepFailedSeconds: 60\n'),
    ci('  minIdleRunners: 1\n  keepFailedSeconds: 0\n'),
    [
      'starting: replaced (replaced), prunes-it',
      'idle: stays (own-runner), nothing',
      'warm: replaced (drained), prunes-it',
      'warm+: removed (drained), prunes-it',
      'busy: finishes (busy), nothing',
      'debugging: removed (unpinning), prunes-it',
    ],
  ],
  [
    'another organization',
    ci('  minIdleRunners: 1\n'),
    { 'ci.yaml': groupYaml(GITEA, '  minIdleRunners: 1\n').replace('org: acme', 'org: beta') },
    [
      'starting: removed (replaced), prunes-it',
      'idle: removed (replaced), prunes-it',
      'warm: replaced (replaced), prunes-it',
      'busy: finishes (moved), nothing',
    ],
  ],
  [
    'another name',
    ci(''),
    { 'ci.yaml': groupYaml(GITEA, '', 'linux') },
    [
      'starting: replaced (not-planned), prunes-it',
      'idle: replaced (not-planned), prunes-it',
      'busy: finishes (busy, runners/linux), nothing',
    ],
  ],
  [
    'no RunnerGroup any more',
    { ...ci(''), 'other.yaml': groupYaml(GITEA, '', 'other').replace('linux:host', 'other:host') },
    { 'other.yaml': groupYaml(GITEA, '', 'other').replace('linux:host', 'other:host') },
    [
      'starting: removed (not-planned, labels-not-covered), prunes-it',
      'idle: removed (not-planned, labels-not-covered), prunes-it',
      'busy: finishes (not-planned), nothing',
    ],
  ],
])('validate --against says for each state of a runner: %s', async (_, base, next, expected) => {
  expect(await fates(base, next)).toEqual(expected);
});

describe('validate --against prints', () => {
  it('tables for people', async () => {
    const { code, stdout } = await validate(
      { ...ci(''), 'same.yaml': groupYaml(GITEA, '', 'same') },
      { ...ci('  image: gitea/runner:2.0.0\n'), 'same.yaml': groupYaml(GITEA, '', 'same') },
    );

    const strict = await validate(ci('  resources: {}\n'), ci('  resources: {}\n  suspend: true\n'), '--strict');

    expect([strict.code, strict.stdout]).toEqual([2, '']);
    expect(code).toBe(0);
    expect(stdout).toBe(
      `2 RunnerGroups in 2 files are valid; 1 warning
1 RunnerGroup would change, 1 would not

GROUP       CHANGE
runners/ci  spec.image, new pod template

GROUP       RUNNER    ARGO CD          WHAT HAPPENS
runners/ci  starting  deletes its Job  goes, and a new runner comes
runners/ci  idle      no difference    stays
runners/ci  busy      no difference    finishes its CI job, then ends
`,
    );
  });

  it('Markdown in which nothing that authors write is a mark', async () => {
    const evil = groupYaml(GITEA).replace('"linux:host"', '"<img|@admin>`:host"');

    const bad = await validate(ci(''), { 'ci.yaml': evil }, '-o', 'markdown');
    const good = await validate(ci(''), ci('  suspend: true\n'), '-o', 'markdown');

    expect(bad.code).toBe(2);
    expect(bad.stdout).toMatch(
      /^<!-- gitea-runners validate -->\n1 RunnerGroup in 1 file: 1 error\.\n\n\* error: `new\/ci\.yaml:/,
    );
    // All strings of authors are code.
    expect(bad.stdout.slice(35).replace(/`[^`]*`/g, '')).not.toMatch(/[<>|@`]/);
    expect(bad.stdout).toContain("<img|@admin>':host");
    expect(good.code).toBe(0);
    expect(good.stdout).toContain('\n| `runners/ci` | `busy` | `no difference` | `finishes its CI job, then ends` |\n');
    expect(good.stdout).toContain('\n| `runners/ci` | `spec.suspend` |\n');
  });

  it('a line and no comparison when what is there now is not valid: the change may mend it', async () => {
    const { code, stdout, stderr } = await validate({ 'ci.yaml': BEFORE.replace('org: acme', 'org: 7') }, ci(''));

    expect([code, stdout]).toEqual([0, '1 RunnerGroup in 1 file is valid\n']);
    expect(stderr).toMatch(/^warning: correct \S+ first, or nothing is said about runners: .*spec\.org/m);
  });

  it('an error when its PATH is not there', async () => {
    const folder = folderWith(ci(''));

    const { code, stdout, stderr } = await runHere(['validate', folder, '--against', 'typo'], {}, folder);

    expect([code, stdout], stderr).toEqual([2, '']);
    expect(stderr).toMatch(/typo.*no such file/);
  });

  it('an error when more differs than is compared', async () => {
    const many = (cap: number) =>
      Object.fromEntries(
        Array.from({ length: 201 }, (_, n) => [
          `g${n}.yaml`,
          groupYaml(GITEA, '', `g${n}`).replace('Runners: 5', `Runners: ${cap}`),
        ]),
      );

    const { code, stdout, stderr } = await validate(many(5), many(6));

    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('GR-AGAINST-01 compare RunnerGroups: 201 differ, more than 200');
  });
});

/** Three CI jobs of org acme and their runners in the cluster: the first one works, the second one is idle, the third one starts. */
async function threeRunners(applications: readonly string[] = ['app', 'app', 'app']) {
  const { simulator, env } = await startAcme();
  const { gitea, url } = simulator;
  gitea.addOrg('beta', { owners: ['anna'] });
  gitea.push('acme/web', { jobs: ['a', 'b', 'c'].map((key) => ({ key, runsOn: ['linux'] })) });
  const base = folderWith({ 'ci.yaml': groupYaml(url) });
  const { stdout } = await runHere(['generate', base], env);
  const names = [...stdout.matchAll(/^ {2}name: "(\S+)"$/gm)].map(([, name = '']) => name);
  const [busy = '', idle = ''] = names;
  for (const name of [busy, idle]) {
    const row = gitea.register({ name, scope: { kind: 'owner', owner: 'acme' }, labels: ['linux'], ephemeral: true });
    if (name === busy) gitea.poll(row.id);
  }
  const creationTimestamp = new Date().toISOString();
  const jobs = parseAllDocuments(stdout).map((document, nth) => {
    const { metadata, spec } = document.toJS() as {
      metadata: { name: string; annotations: Texts; labels?: Texts };
      spec: object;
    };
    const { name } = metadata;
    const pin = { 'argocd.argoproj.io/sync-options': 'Prune=false' };
    const application = applications[nth] ?? '';
    const tracking = { 'argocd.argoproj.io/tracking-id': `${application}:batch/Job:runners/${name}` };
    const [, shard] = application.split('-');
    const annotations = { ...metadata.annotations, ...tracking, ...(name === busy && pin) };
    const labels = { 'batch.kubernetes.io/controller-uid': `uid-${name}` };
    const live = { ...spec, selector: { matchLabels: labels } };
    return {
      metadata: {
        ...metadata,
        ...{ uid: `uid-${name}`, creationTimestamp, annotations },
        labels: { ...metadata.labels, ...(shard !== undefined && { 'gitea.bpg.pw/shard': shard }) },
      },
      spec: live,
      status: { active: 1 },
    };
  });
  const pods = names.map((name) => {
    const isStarted = name === busy || name === idle;
    return podOf(name, isStarted ? runsSince(Date.now()) : { phase: 'Pending' }, Date.now());
  });
  const cluster = await startCluster({ jobs: { runners: jobs }, pods: { runners: pods }, groups: { runners: [] } });
  return { url, base, names, env: { ...env, ARGOCD_APP_NAME: 'app' }, kubeconfig: kubeconfigFor(cluster) };
}

it('validate --against says of each living runner by name what generate does with it after the merge', async () => {
  const { url, base, names, env, kubeconfig } = await threeRunners();
  const changes: Readonly<Record<string, string>> = {
    image: groupYaml(url, '  image: gitea/runner:2.0.0\n'),
    another: groupYaml(url, '  image: gitea/runner:2.0.1\n'),
    cap: groupYaml(url).replace('maxActiveRunners: 5', 'maxActiveRunners: 2'),
    suspend: groupYaml(url, '  suspend: true\n'),
    labels: groupYaml(url).replace('linux:host', 'other:host'),
    name: groupYaml(url, '', 'renamed'),
    scope: groupYaml(url).replace('org: acme', 'org: beta'),
    nothing: groupYaml(url, '  notify: []\n'),
  };
  const told: Record<string, readonly string[]> = {};
  for (const [what, text] of Object.entries(changes)) {
    const next = folderWith({ 'ci.yaml': text });
    const said = await runHere(['validate', '--against', base, '--kubeconfig', kubeconfig, '-o', 'json', next]);
    const done = await runHere(['generate', '--kubeconfig', kubeconfig, next], env);
    expect([said.code, done.code], `${what}: ${said.stderr}${done.stderr}`).toEqual([0, 0]);
    const { changes: groups, unknownJobs } = (JSON.parse(said.stdout) as Told).against;
    const runners = groups.flatMap((group) => group.runners);
    const printed = [...done.stdout.matchAll(/^ {2}name: "(\S+)"$/gm)].map(([, name]) => name);
    const fresh = printed.filter((name) => !names.includes(name ?? '')).length;

    expect(unknownJobs).toBe(0);
    expect(runners.map(({ runner }) => runner)).toEqual(names);
    expect(
      runners.filter(({ outcome }) => outcome === 'stays' || outcome === 'finishes').map(({ runner }) => runner),
      what,
    ).toEqual(printed.filter((name) => names.includes(name ?? '')));
    expect(
      runners.filter(({ outcome }) => outcome === 'replaced'),
      what,
    ).toHaveLength(fresh);
    told[what] = runners.map(({ now, outcome }) => `${now} ${outcome}`);
  }

  const { image, another, ...others } = told;
  // The port of Gitea is in the names. One template in 1,600 gives a starting runner its former name again
  // (names.ts). Two templates do not.
  expect([image, another]).toContainEqual(['busy finishes', 'idle stays', 'starting replaced']);
  expect(others).toEqual({
    cap: ['busy finishes', 'idle stays', 'starting removed'],
    suspend: ['busy finishes', 'idle removed', 'starting removed'],
    // Its CI job is no longer covered. The runner is a spare while CI goes on that it can take.
    labels: ['busy finishes', 'idle stays', 'starting removed'],
    name: ['busy finishes', 'idle replaced', 'starting replaced'],
    scope: ['busy finishes', 'idle removed', 'starting removed'],
    nothing: ['busy finishes', 'idle stays', 'starting stays'],
  });
});

it('validate --against counts the runners of all shards under one cap', async () => {
  const { url, base, kubeconfig } = await threeRunners(['runners-0', 'runners-1', 'runners-2']);
  const next = folderWith({ 'ci.yaml': groupYaml(url).replace('maxActiveRunners: 5', 'maxActiveRunners: 2') });

  const { stdout } = await runHere(['validate', '--against', base, '--kubeconfig', kubeconfig, '-o', 'json', next]);

  const runners = (JSON.parse(stdout) as Told).against.changes.flatMap((group) => group.runners);
  expect(runners.map(({ now, outcome }) => `${now} ${outcome}`)).toEqual([
    'busy finishes',
    'idle stays',
    'starting removed',
  ]);
});

it('validate --against says when the living Jobs are none of these RunnerGroups, and fails when the cluster does not answer', async () => {
  const { base, kubeconfig } = await threeRunners();
  const next = folderWith({ 'ci.yaml': groupYaml(GITEA, '  suspend: true\n') });
  const words = ['validate', '--against', base, next, '--kubeconfig'];

  const foreign = await runHere([...words, kubeconfig], { GITEA_RUNNERS_INSTANCE: 'another' });
  const closed = await runHere([
    ...words,
    kubeconfigFor({ config: { url: 'https://localhost:1', token: async () => '' } }),
  ]);

  expect(foreign.stdout).toContain(
    '3 living Jobs belong to none of them. If that is wrong, set GITEA_RUNNERS_INSTANCE as the installation does',
  );
  expect([closed.code, closed.stderr]).toEqual([1, expect.stringContaining('GR-')]);
  expect(closed.stdout).toBe('');
});

it('validate reads the commits to compare from variables, and ignores them when it compares nothing', async () => {
  const folder = sides(ci(''), ci('  suspend: true\n'));

  const compared = await runHere(['validate', 'new'], { GITEA_RUNNERS_AGAINST: 'base' }, folder);
  const alone = await runHere(['validate', 'new'], { GITEA_RUNNERS_KUBECONFIG: '/nowhere' }, folder);

  expect(compared.stdout).toContain('1 RunnerGroup would change, 0 would not');
  expect([alone.code, alone.stdout]).toEqual([0, '1 RunnerGroup in 1 file is valid\n']);
});
