/**
 * The straightforward program that `npm run bench` compares with: reads one RunnerGroup, asks Gitea page by page, makes a
 * `kplus.Job` for each queued job and prints `synthYaml`. No checks, no plan, no errors; run unbundled, as such programs are.
 *
 *   GITEA_URL=… GITEA_TOKEN=… node bench/plain-cdk8s.mjs FILE
 */
import { readFileSync } from 'node:fs';
import { App, Chart, Duration } from 'cdk8s';
import * as kplus from 'cdk8s-plus-28';
import { request } from 'undici';
import { parse } from 'yaml';

const { metadata, spec } = parse(readFileSync(process.argv[2], 'utf8'));
const { GITEA_URL, GITEA_TOKEN } = process.env;

async function ask(path) {
  const { body } = await request(`${GITEA_URL}/api/v1/orgs/${spec.org}/actions/${path}`, {
    headers: { authorization: `token ${GITEA_TOKEN}` },
  });
  return await body.json();
}

const jobs = [];
for (let page = 1; ; page += 1) {
  const answer = await ask(`jobs?status=queued&limit=50&page=${page}`);
  jobs.push(...answer.jobs);
  if (answer.jobs.length === 0 || jobs.length >= answer.total_count) break;
}

const app = new App();
const chart = new Chart(app, 'runners', { namespace: metadata.namespace });
for (const { id } of jobs.slice(0, spec.maxActiveRunners)) {
  const name = `${metadata.name}-${id}`;
  const labels = { 'app.kubernetes.io/name': 'gitea-runner', 'gitea.bpg.pw/runnergroup-name': metadata.name };
  const secret = kplus.Secret.fromSecretName(chart, `secret-${id}`, spec.registrationToken.name);
  const data = kplus.Volume.fromEmptyDir(chart, `data-${id}`, 'data');
  new kplus.Job(chart, `job-${id}`, {
    metadata: { name, labels, annotations: { 'argocd.argoproj.io/ignore-healthcheck': 'true' } },
    podMetadata: { labels },
    activeDeadline: Duration.seconds(21_600),
    backoffLimit: 0,
    ttlAfterFinished: Duration.seconds(600),
    restartPolicy: kplus.RestartPolicy.NEVER,
    automountServiceAccountToken: false,
    terminationGracePeriod: Duration.seconds(570),
    containers: [
      {
        name: 'runner',
        image: 'gitea/runner:1.0.8-dind-rootless',
        envVariables: {
          GITEA_INSTANCE_URL: kplus.EnvValue.fromValue(GITEA_URL),
          GITEA_RUNNER_REGISTRATION_TOKEN: kplus.EnvValue.fromSecretValue({ secret, key: spec.registrationToken.key }),
          GITEA_RUNNER_EPHEMERAL: kplus.EnvValue.fromValue('true'),
          GITEA_RUNNER_NAME: kplus.EnvValue.fromValue(name),
          GITEA_RUNNER_LABELS: kplus.EnvValue.fromValue(
            'ubuntu-latest:docker://docker.gitea.com/runner-images:ubuntu-latest',
          ),
          DOCKER_HOST: kplus.EnvValue.fromValue('unix:///run/user/1000/docker.sock'),
        },
        volumeMounts: [{ path: '/data', volume: data }],
        securityContext: { privileged: true, allowPrivilegeEscalation: true, ensureNonRoot: false },
      },
    ],
  });
}
process.stdout.write(app.synthYaml());
