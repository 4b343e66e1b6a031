/** RunnerGroups of several teams from one list. `npm run synth` writes them to dist/, which Argo CD's plugin reads. */
import { RunnerGroup } from 'argocd-gitea-runners';
import { App, Chart } from 'cdk8s';

const TEAMS = [
  { org: 'web', cap: 10 },
  { org: 'data', cap: 4 },
];

const app = new App();
const chart = new Chart(app, 'runners', { namespace: 'runners', disableResourceNameHashes: true });
for (const { org, cap } of TEAMS) {
  new RunnerGroup(chart, org, {
    metadata: { name: org },
    spec: {
      scope: 'org',
      org,
      gitea: { url: 'https://gitea.example.com' },
      containerMode: 'host',
      securityProfile: 'restricted',
      labels: ['small:host'],
      maxActiveRunners: cap,
      resources: { requests: { cpu: '500m', memory: '1Gi' } },
      registrationToken: { secretRef: { name: `gitea-runner-${org}`, key: 'registration-token' } },
      authToken: { secretRef: { name: 'gitea-api', key: 'token' } },
    },
  });
}
app.synth();
