/** A platform's own app (docs/platform.md): what it may do, what it may not, and that nothing is printed then. */
import { build } from 'esbuild';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { RunnersApp, renderManifests, templateHash } from '../../src/manifests/app.ts';
import { manifestPieces } from '../../src/manifests/text.ts';
import { groupOfObject, ownTemplateHash } from '../../src/plan/own-pod.ts';
import { appFile, exampleApp, fileOf, platformOf } from '../support/platform-app.ts';
import { RUNS } from '../support/property.ts';
import { folderWith, groupYaml, runCli, runHere, runNode } from '../support/run-cli.ts';
import { startWithJob } from '../support/start-acme.ts';
import { anyOutput } from './any-output.ts';
import { generated, group, outputOf, runner } from './fixtures.ts';

const AUDIT = `{name: 'audit', image: 'audit:1', restartPolicy: 'Always', securityContext: {allowPrivilegeEscalation: false,
  capabilities: {drop: ['ALL']}, runAsNonRoot: true, seccompProfile: {type: 'RuntimeDefault'}}}`;

/** Returns the Job of the fixture group as this app makes it, and its faults. */
function made(body: string, change: Parameters<typeof group>[0] = {}) {
  const of = group({ containerMode: 'host', image: 'gitea/runner:1.0.8', ...change });
  const app = new RunnersApp([{ ...of, platform: platformOf(appFile(body)) }]);
  const [chart] = app.groupCharts;
  return {
    problems: app.problems,
    template: chart?.template,
    plain: new RunnersApp([of]).groupCharts[0]?.template,
    app,
  };
}

it('an app of a platform that changes nothing changes no byte, for any groups and runners', () => {
  const platform = platformOf(appFile(''));
  fc.assert(
    fc.property(anyOutput, (groups) => {
      const changed = groups.map((item) => ({ ...item, group: { ...item.group, platform } }));
      expect(new RunnersApp(changed.map((item) => item.group)).problems).toEqual([]);
      expect(generated(changed)).toBe(generated(groups));
    }),
    { numRuns: RUNS },
  );
});

it("a platform's app adds labels and annotations to Jobs, and anything to the pod that a podTemplate may add", () => {
  const { problems, template, plain } = made(`
      each((job) => { job.metadata.addLabel('acme.example/team', 'web'); job.metadata.addAnnotation('acme.example/why', 'x'); });
      add('/spec/template/metadata/labels/team', 'web');
      add('/spec/template/spec/initContainers/-', ${AUDIT});
      add('/spec/template/spec/volumes/-', {name: 'scratch', emptyDir: {}});
      add('/spec/template/spec/containers/0/volumeMounts/-', {name: 'scratch', mountPath: '/scratch'});
      add('/spec/template/spec/containers/0/env/-', {name: 'LANG', value: 'C'});
      add('/spec/template/spec/tolerations', [{key: 'ci', operator: 'Exists'}]);`);

  expect(problems).toEqual([]);
  expect(template?.metadata).toEqual({
    ...plain?.metadata,
    labels: { ...plain?.metadata.labels, 'acme.example/team': 'web' },
    annotations: { 'acme.example/why': 'x' },
  });
  const [pod, before] = [template?.spec.template, plain?.spec.template];
  expect(pod?.metadata.labels).toEqual({ ...before?.metadata.labels, team: 'web' });
  expect(pod?.spec.initContainers?.map(({ name }) => name)).toEqual(['register', 'audit']);
  expect(pod?.spec.initContainers?.[0]).toEqual(before?.spec.initContainers?.[0]);
  expect(pod?.spec.volumes).toEqual([...(before?.spec.volumes ?? []), { name: 'scratch', emptyDir: {} }]);
  expect(pod?.spec.containers[0]?.env).toEqual([
    ...(before?.spec.containers[0]?.env ?? []),
    { name: 'LANG', value: 'C' },
  ]);
});

it("a platform's app gives the runner another image, and the container that registers follows", () => {
  const { problems, template } = made(
    `each((job) => job.addJsonPatch(JsonPatch.replace('/spec/template/spec/containers/0/image', 'own:2')));`,
  );

  expect(problems).toEqual([]);
  expect([template?.spec.template.spec.containers, template?.spec.template.spec.initContainers]).toMatchObject([
    [{ image: 'own:2' }],
    [{ image: 'own:2' }],
  ]);
});

const POD = '/spec/template/spec';
const added = (path: string, value: string) => `add('${path}', ${value})`;
const replace = (path: string, value: string) =>
  `each((job) => job.addJsonPatch(JsonPatch.replace('${path}', ${value})))`;
const remove = (path: string) => `each((job) => job.addJsonPatch(JsonPatch.remove('${path}')))`;
const labelled = (key: string, value: string) => `each((job) => job.metadata.addLabel('${key}', '${value}'))`;
const annotated = (key: string, value: string) => `each((job) => job.metadata.addAnnotation('${key}', '${value}'))`;
const object = (kind: string, apiVersion = 'v1', more = '') =>
  `new cdk8s.ApiObject(new cdk8s.Chart(app, 'c'), 'x', {apiVersion: '${apiVersion}', kind: '${kind}', metadata: {name: 'x'${more}}})`;
it.each<[does: string, body: string, ...words: string[]]>([
  ['renames the Job', replace('/metadata/name', "'other'"), 'metadata.name ("other") is ours'],
  ['moves it', replace('/metadata/namespace', "'kube-system'"), 'metadata.namespace ("kube-system") is ours'],
  ['owns it', added('/metadata/ownerReferences', '[]'), 'metadata.ownerReferences is ours'],
  ['makes it a Pod', replace('/kind', "'Pod'"), 'kind ("Pod") is ours'],
  ['adds a status', added('/status', '{}'), 'status is ours'],
  ['gives it another group', labelled('gitea.bpg.pw/runnergroup-name', 'x'), 'is reserved'],
  ['removes a label of ours', remove('/metadata/labels/gitea.bpg.pw~1managed-by'), 'is gone'],
  ['adds a label of ours', labelled('gitea.bpg.pw/job-id', '1'), '"1"', 'is reserved'],
  ['hands it to another Application', labelled('app.kubernetes.io/instance', 'x'), 'is reserved'],
  ['pins it', annotated('argocd.argoproj.io/hook', 'Skip'), '"Skip"', 'is reserved'],
  ['says where it was registered', annotated('gitea.bpg.pw/registered-at', 'x'), 'is reserved'],
  ['lets two pods run', replace('/spec/parallelism', '2'), 'spec.parallelism ("2") is ours'],
  ['suspends it', added('/spec/suspend', 'true'), 'spec.suspend ("true") is ours'],
  ['ends it sooner', replace('/spec/activeDeadlineSeconds', '5'), 'spec.activeDeadlineSeconds ("5")'],
  ['removes the deadline', remove('/spec/activeDeadlineSeconds'), 'spec.activeDeadlineSeconds is gone'],
  ['removes the pod', remove('/spec/template'), 'spec.template is gone'],
  ['replaces the pod by a word', replace('/spec/template', "'x'"), 'spec.template ("x") is ours'],
  ['removes register', remove(`${POD}/initContainers/0`), 'spec.template.spec.initContainers is gone'],
  [
    'changes register',
    replace(`${POD}/initContainers/0/command`, "['true']"),
    'initContainers[register]',
    'is reserved: it alone has the registration token',
  ],
  [
    'removes the runner',
    replace(`${POD}/containers`, "[{name: 'x', image: 'y'}]"),
    'spec.template.spec.containers is gone',
  ],
  ['runs something else', added(`${POD}/containers/0/command`, "['sleep']"), 'command', 'is reserved'],
  ['takes the runner its name', remove(`${POD}/containers/0/env/2`), 'env is gone'],
  [
    'gives the runner another name',
    replace(`${POD}/containers/0/env/2/value`, "'x'"),
    'env[GITEA_RUNNER_NAME]',
    'is reserved',
  ],
  [
    'reads the registration token',
    added(`${POD}/containers/0/env/-`, "{name: 'T', valueFrom: {secretKeyRef: {name: 'gitea-runner', key: 'token'}}}"),
    'the token of Gitea',
  ],
  [
    'mounts over the registration',
    added(`${POD}/containers/0/volumeMounts/-`, "{name: 'config', mountPath: '/data/.runner'}"),
    'is reserved',
  ],
  [
    'takes a token of the cluster',
    replace(`${POD}/automountServiceAccountToken`, 'true'),
    'automountServiceAccountToken ("true") is reserved',
  ],
  [
    'stops runners sooner',
    replace(`${POD}/terminationGracePeriodSeconds`, '1'),
    'terminationGracePeriodSeconds ("1") is reserved',
  ],
  [
    'changes the configuration',
    replace('/spec/template/metadata/annotations/gitea.bpg.pw~1runner-config', "'x'"),
    'is reserved',
  ],
  ['misspells a field', added(`${POD}/toleration`, '[]'), 'unknown field'],
  [
    'is weaker than the profile',
    added(`${POD}/initContainers/-`, "{name: 'a', image: 'a:1'}"),
    'initContainers',
    'restricted',
  ],
  [
    'makes a Job',
    `new cdk8s.ApiObject(app.groupCharts[0], 'x', {apiVersion: 'batch/v1', kind: 'Job', metadata: {name: 'x'}})`,
    'is a Job',
  ],
  ['makes a RunnerGroup', object('RunnerGroup', 'gitea.bpg.pw/v1alpha1'), 'is a RunnerGroup'],
  ['makes a Secret', object('Secret'), 'is a Secret'],
  [
    'makes one thing twice',
    `for (const id of 'ab') new cdk8s.ApiObject(new cdk8s.Chart(app, id), 'x', {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'x'}})`,
    'ConfigMap /x is there twice',
  ],
  [
    'labels a thing as ours',
    object('ConfigMap', 'v1', ", labels: {'gitea.bpg.pw/managed-by': 'x'}"),
    'has gitea.bpg.pw/managed-by',
  ],
  ['finds itself not valid', `app.node.addValidation({validate: () => ['no budget']})`, 'no budget'],
  ['answers a promise', 'return Promise.resolve()', 'must answer nothing'],
  ['forgets a group', 'app.groupCharts.pop()', 'groupCharts has changed'],
  ['throws', `throw new TypeError('no such team')`, 'it threw TypeError: no such team'],
  ['patches what is not there', added('/spec/none/x', '1'), 'it threw'],
])('an app of a platform that %s is told so', (_, body, ...words) => {
  const { problems } = made(body);

  expect(problems.length).toBeGreaterThan(0);
  for (const word of words) expect(problems.join('\n')).toContain(word);
});

it("a platform's app is told of the container that a group without a registration token has", () => {
  const { problems } = made(remove(`${POD}/initContainers/0`), {
    registrationToken: undefined,
    setupCommand: [],
    caBundle: { configMapRef: { name: 'ca', key: 'ca.crt' } } as never,
  });

  expect(problems.join('\n')).toContain('initContainers is gone');
});

it("a platform's app leaves what lives as it is, but for labels and annotations", () => {
  const of = group({ containerMode: 'host' });
  const platform = platformOf(
    appFile(`add('/metadata/labels/team', 'web'); add('/spec/template/metadata/labels/team', 'web');`),
  );
  const living = { template: { spec: { containers: [{ name: 'runner', image: 'old:1' }] } } };
  const output = (one: typeof of) =>
    parseAllDocuments(
      generated([{ group: one, runners: [runner(), runner({ runner: 'ci-9-1-00000000' })] }], {
        liveSpecOf: ({ runner: name }) => (name === 'ci-9-1-00000000' ? living : undefined),
      }),
    ).map((document) => document.toJS());

  const [fresh, old] = output({ ...of, platform });

  expect(fresh.spec.template.metadata.labels).toMatchObject({ team: 'web' });
  expect(old).toEqual({ ...output(of)[1], metadata: { ...output(of)[1].metadata, labels: expect.anything() } });
  expect(old.metadata.labels).toMatchObject({ team: 'web' });
  expect(old.spec).toEqual(living);
});

it("a platform's app says the same in generate, in cdk8s synth and in serve", () => {
  const platform = platformOf(exampleApp());
  const groups = ['payments', 'web'].map((namespace) => group({ namespace, containerMode: 'host', platform }));
  const items = groups.map((of) => ({ group: of, runners: [runner({ group: of })] }));
  const app = new RunnersApp(groups);
  const text = manifestPieces(app.groupCharts, outputOf(items, { kept: app.added })).join('');
  app.emit(outputOf(items, {}));

  expect(app.problems).toEqual([]);
  expect(renderManifests(app)).toBe(text);
  expect(app.groupCharts.map((chart) => chart.templateHash)).toEqual(groups.map((of) => templateHash(of)));
  expect(groups.map(ownTemplateHash)).toEqual(groups.map((of) => templateHash(of)));
  expect(text.match(/name: "audit"/g)).toHaveLength(1);
  expect(text.match(/kind: "NetworkPolicy"/g)).toHaveLength(2);
});

it("a platform's app makes a RunnerGroup in the cluster not ready when it must not do what it does", async () => {
  const platform = platformOf(appFile(`add('/spec/suspend', true)`));
  const { spec } = parse(groupYaml('https://gitea.example.com'));
  const object = { metadata: { name: 'ci', namespace: 'runners', uid: 'u' }, spec } as never;

  expect(groupOfObject(object, { platform })).toEqual({ problem: expect.stringContaining('spec.suspend ("true")') });
  expect(groupOfObject(object)).toHaveProperty('group');
});

const AT = { cwd: '.' };
it.each([
  ['throws', appFileLater(`throw new Error('no such team')`), 'GR-APP-02', 'no such team'],
  [
    'touches what is ours',
    appFileLater(`add('/spec/suspend', true)`),
    'GR-APP-02',
    'runners.ci/job: spec.suspend ("true") is ours',
  ],
  ['ends the process', appFileLater('process.exit(0)'), 'GR-APP-02', 'has ended the process'],
  ['is no JavaScript', () => fileOf('this is no code'), 'GR-APP-01', 'SyntaxError'],
  ['exports nothing', () => fileOf('exports.other = 1'), 'GR-APP-01', 'exports no function "platform"'],
  ['needs a package that is not there', () => fileOf(`require('no-such-package')`), 'GR-APP-01', 'no-such-package'],
  ['is not there', () => '/no/such/platform.cjs', 'GR-APP-01', 'no such file'],
])('generate --app prints nothing when the app %s', async (_, file, code, words) => {
  const { folder, env } = await startWithJob();

  const outcome = await runCli(['generate', '--app', file(), folder], env, AT.cwd);

  expect(outcome).toMatchObject({ code: code === 'GR-APP-02' && words.includes('process') ? 1 : 2, stdout: '' });
  expect(outcome.stderr).toContain(code);
  expect(outcome.stderr).toContain(words);
});

it('generate --app prints manifests alone when the app talks', async () => {
  const { folder, env } = await startWithJob();
  const file = appFile(
    `console.log('one'); process.stdout.write('two\\n'); setTimeout(() => console.info('three'), 1);`,
  );

  const quiet = await runCli(['generate', '--app', appFile(''), folder], env);
  const loud = await runCli(['generate', '--app', file, folder], env);

  expect(loud).toMatchObject({ code: 0, stdout: quiet.stdout });
  expect(loud.stderr).toContain('one\ntwo\n');
});

it('generate --app does what is built into the image also with its own copy of cdk8s', async () => {
  const { folder, env } = await startWithJob();
  const { outputFiles } = await build({
    entryPoints: ['examples/platform/main.ts'],
    bundle: true,
    platform: 'node',
    write: false,
  });

  const external = await runCli(['generate', folder], { ...env, GITEA_RUNNERS_APP: exampleApp() });
  const bundled = await runCli(['generate', folder], {
    ...env,
    GITEA_RUNNERS_APP: fileOf(outputFiles[0]?.text ?? ''),
  });

  expect(external).toMatchObject({ code: 0, stdout: expect.stringContaining('platform.example.com/cost-center') });
  expect(bundled).toEqual(external);
});

it('generate --app takes no code from the repository that Argo CD serves, nor from a place that it could choose', async () => {
  const { env } = await startWithJob();
  const repository = folderWith({
    'platform.cjs': 'exports.platform = () => {}',
    'ci.yaml': groupYaml('https://gitea.example.com'),
  });
  const argocd = { ...env, ARGOCD_APP_NAME: 'ci', ARGOCD_ENV_GITEA_RUNNERS_APP: `${repository}/platform.cjs` };

  const inside = await runHere(['generate', '--app', 'platform.cjs'], argocd, repository);
  const relative = await runHere(['generate'], { ...argocd, GITEA_RUNNERS_APP: 'platform.cjs' }, repository);
  const chosen = await runHere(['generate'], { ...argocd, ARGOCD_ENV_GITEA_RUNNERS_APP: '/no/such/file' }, repository);

  expect(inside).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('GR-APP-01') });
  expect(inside.stderr).toContain('authors choose no code');
  expect(relative).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('GR-FLAG-09') });
  expect(chosen.stderr).not.toContain('GR-APP');
});

function appFileLater(body: string) {
  return () => appFile(body);
}

describe('what cdk8s, constructs and cdk8s-plus-28 do', () => {
  /** Stubs with which the golden tests passed before there were platforms' apps. */
  const STUBS = `class Construct { constructor(scope, id) { const children = []; this.node = { children, id, scope, path: id,
      addValidation() {}, validate: () => [], tryRemoveChild() {}, scopes: [],
      findAll: () => [this, ...children.flatMap((child) => child.node.findAll())] }; scope?.node.children.push(this); } }
    class App extends Construct { constructor(props) { super(undefined, ''); this.outdir = 'dist'; } }
    class Chart extends Construct {}
    class ApiObject extends Construct { constructor(scope, id, props) { super(scope, id); this.json = props; }
      static isApiObject(one) { return one instanceof ApiObject; } addJsonPatch() {} toJson() { return this.json; } }
    const k8s = { KubeJob: { manifest: (props) => props }, Quantity: { fromString: (text) => text } };
    module.exports = { Construct, App, Chart, ApiObject, JsonPatch: {}, k8s };`;

  /**
   * Returns the output of the example app for a group in namespace payments, bundled with the packages or with stubs of
   * some.
   */
  async function printed(stubbed?: RegExp, app = 'loadPlatform(process.argv[2], judgeJob).platform'): Promise<string> {
    const { outputFiles } = await build({
      stdin: {
        contents: `import { RunnersApp } from './src/manifests/platform.ts';
          import { loadPlatform } from './src/manifests/platform.ts';
          import { judgeJob } from './src/plan/made-job.ts';
          import { manifestPieces } from './src/manifests/text.ts';
          import { group } from './test/manifests/fixtures.ts';
          const platform = ${app};
          const app = new RunnersApp([group({ namespace: 'payments', containerMode: 'host', platform })]);
          const runnersOf = () => [{ name: 'ci-1', labels: {}, annotations: {} }];
          const output = { runnersOf, emitGroups: false, isLeftOut: () => false, kept: app.added, others: [] };
          process.stdout.write(app.problems.join() + manifestPieces(app.groupCharts, output).join(''));`,
        resolveDir: '.',
        loader: 'ts',
      },
      bundle: true,
      platform: 'node',
      format: 'cjs',
      write: false,
      logLevel: 'silent',
      plugins: stubbed
        ? [
            {
              name: 'stubs',
              setup: ({ onResolve, onLoad }) => {
                onResolve({ filter: stubbed }, () => ({ path: 'stub', namespace: 'stub' }));
                onLoad({ filter: /.*/, namespace: 'stub' }, () => ({ contents: STUBS, loader: 'js' }));
              },
            },
          ]
        : [],
    });
    const { code, stdout } = await runNode([fileOf(outputFiles[0]?.text ?? ''), exampleApp()], {});
    return code === 0 ? stdout : `exit ${code}`;
  }

  it('shows in what is printed', async () => {
    const real = await printed();

    expect(real).toContain('platform.example.com/cost-center: "ci"');
    expect(real).toContain('name: "audit"');
    expect(real).toContain('kind: "NetworkPolicy"');
  });

  it.each([
    ['all of them', /^(?:cdk8s|cdk8s-plus-28|constructs)$/],
    ['cdk8s', /^cdk8s$/],
    ['constructs', /^constructs$/],
    ['cdk8s-plus-28', /^cdk8s-plus-28$/],
  ])('a cdk8s package is missed: without %s the example does not come out', async (_, stubbed) => {
    expect(await printed(stubbed)).not.toContain('name: "audit"');
  });

  it('a cdk8s package is missed without an app, too: without cdk8s-plus-28 no object is a Job', async () => {
    expect(await printed(undefined, 'undefined')).toContain('kind: "Job"');
    expect(await printed(/^cdk8s-plus-28$/, 'undefined')).not.toContain('kind: "Job"');
  });
});
