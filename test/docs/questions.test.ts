/**
 * Tests that the manual answers questions of people. Twenty-one are those of a first user; twenty were asked in threads
 * about ARC, KEDA, Argo CD and Gitea's runners. Each answer has a heading of its own, and is at most two links away
 * from the README.
 */
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, it } from 'vitest';
import { rowsOf } from '../support/rows.ts';
import { anchorsOf, linksOf } from './anchors.ts';
import { allPages } from './pages.ts';

/** The question, the page and heading of its answer, and where somebody asked it: without that, a first user of this project. */
const QUESTIONS = rowsOf(`
Why does my job wait? => docs/explain.md#ask-about-one-thing
What does it cost my Gitea? => docs/faq.md#what-does-it-cost-gitea
Does it work with Forgejo? => docs/faq.md#does-it-work-with-forgejo
How do runners share a cache? => docs/cache.md#set-it-up
How do I upgrade? => docs/upgrade.md#how
How do I get rid of it? => docs/install.md#upgrade-uninstall
Can two clusters serve one Gitea? => docs/recipes/clusters.md#more-than-one-cluster
How do I use a private registry? => docs/recipes/network.md#private-registry
How do I run docker builds safely? => docs/recipes/docker.md#docker-builds
How do I rotate the tokens? => docs/recipes/tokens.md#rotate-each-token
How does team X get at most 5 runners? => docs/recipes/teams.md#a-team-at-most-5-runners
What if Argo CD is down? => docs/recipes/disaster.md#argo-cd-is-down-for-a-day
How do I get arm64 runners? => docs/recipes/machines.md#arm64-beside-amd64
How do I use a GPU? => docs/recipes/gpu.md#gpu-with-a-cuda-image
How do I use kustomize? => docs/recipes/gitops.md#kustomize-overlays
How many nodes do I need? => docs/recipes/capacity.md#how-many-nodes-which-requests
Does it work without Argo CD? => docs/recipes/without-argo-cd.md#without-argo-cd
Does it run Windows jobs? => docs/faq.md#does-it-run-windows-or-macos-jobs
Where is the history of jobs, and what do they cost? => docs/report.md#ask
How do developers see their jobs in a browser? => docs/page.md#set-it-up
May a developer run explain? => docs/faq.md#may-a-developer-run-explain
Can ARC serve Gitea? => docs/faq.md#can-i-use-arc-with-gitea => go-gitea/gitea#29567
Can KEDA scale Gitea’s runners? => docs/faq.md#why-not-keda => kedacore/keda#8086
Which rights does the API token need for which scope? => docs/commands.md#token-scopes => kedacore/keda-docs#1851
What can a CI job reach through docker’s socket? => docs/security.md#a-ci-job => go-gitea/gitea#24438
Can somebody who pushes a workflow get at the node? => docs/security.md#workflow-authors => actions/actions-runner-controller#1288
Are pods stopped while they run a job?
  docs/faq.md#can-a-running-job-be-killed-by-a-change-of-the-queue
  actions/actions-runner-controller#1534
Is a runner removed while its node still starts?
  docs/faq.md#is-a-runner-given-up-while-its-node-still-starts
  actions/actions-runner-controller#3581
How long does a job wait for its runner? => docs/performance.md#from-a-queued-job-to-its-runner => actions/actions-runner-controller#3704
Can some runners always be idle, also while others work? => docs/runnergroup.md#warm-pool => actions/actions-runner-controller#2968
Can a command run before a runner registers? => docs/runnergroup.md#warm-pool => actions/actions-runner-controller#2484
How do dead runners leave Gitea’s list? => docs/commands.md#sweep => go-gitea/gitea#33750
What happens to a job whose runner is OOM-killed? => docs/losses.md#when-a-runner-is-lost => actions/actions-runner-controller#3319
Can one repository take all runners? => docs/runnergroup.md#several-groups-several-applications => actions/actions-runner-controller#2736
Are runners started by the labels of the jobs? => docs/runnergroup.md#labels => actions/actions-runner-controller#703
Is the Application out of sync when a Job has ended? => docs/faq.md#does-argo-cd-fight-with-jobs-that-end => argoproj/argo-cd#8586
Does it give up when runners have failed some times?
  docs/faq.md#what-if-runners-fail-again-and-again
  actions/actions-runner-controller#4102
Can it believe in runners that are not there? => docs/planner.md#what-it-looks-at => actions/actions-runner-controller#3821
How do I see how many jobs are queued? => docs/serve.md#metrics => go-gitea/gitea#34394
Rootless docker does not start in my cluster: which modes are there?
  docs/runnergroup.md#container-modes
  vegardit/docker-gitea-act-runner#48
Does it meet rate limits? => docs/serve.md#requests-to-gitea => actions/actions-runner-controller#206
`).map(([question, found]) => [question, ...found.split('\n')] as const);

const markdownOf = new Map(allPages().map(({ file, markdown }) => [file, markdown]));

/** Pages that a page links to. */
function pagesFrom(file: string): readonly string[] {
  return linksOf(markdownOf.get(file) ?? '').map(({ path }) => normalize(join(dirname(file), path)));
}

const oneAway = pagesFrom('README.md');
const near = new Set([...oneAway, ...oneAway.flatMap(pagesFrom)]);

it('there are forty-one questions, twenty of them from threads, and no question twice', () => {
  expect(QUESTIONS).toHaveLength(41);
  expect(new Set(QUESTIONS.map(([question]) => question)).size).toBe(41);
  expect(new Set(QUESTIONS.flatMap(([, , thread]) => thread ?? [])).size).toBe(20);
});

it.each(QUESTIONS)('%s', (_, answer = '') => {
  const [page = '', heading = ''] = answer.split('#');

  expect([...anchorsOf(readFileSync(page, 'utf8'))]).toContain(heading);
  expect([...near]).toContain(page);
});
