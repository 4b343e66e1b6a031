/**
 * Questions that people have, and where the manual answers each. Twenty-one are those of a first user, twenty were asked in threads
 * about ARC, KEDA, Argo CD and Gitea's runners. The answer has a heading of its own, and is at most two links away from the README.
 */
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, it } from 'vitest';
import { anchorsOf, linksOf } from './anchors.ts';
import { allPages } from './pages.ts';

interface Question {
  readonly question: string;
  /** Where somebody asked it. Absent: a first user of this project. */
  readonly thread?: string;
  /** The page and its heading, as a link from the project's folder has them. */
  readonly answer: string;
}

const QUESTIONS: readonly Question[] = [
  { question: 'Why does my job wait?', answer: 'docs/explain.md#ask-about-one-thing' },
  { question: 'What does it cost my Gitea?', answer: 'docs/faq.md#what-does-it-cost-gitea' },
  { question: 'Does it work with Forgejo?', answer: 'docs/faq.md#does-it-work-with-forgejo' },
  { question: 'How do runners share a cache?', answer: 'docs/cache.md#set-it-up' },
  { question: 'How do I upgrade?', answer: 'docs/upgrade.md#how' },
  { question: 'How do I get rid of it?', answer: 'docs/install.md#upgrade-uninstall' },
  { question: 'Can two clusters serve one Gitea?', answer: 'docs/recipes/clusters.md#two-clusters' },
  { question: 'How do I use a private registry?', answer: 'docs/recipes/network.md#private-registry' },
  { question: 'How do I run docker builds safely?', answer: 'docs/recipes/docker.md#docker-builds' },
  { question: 'How do I rotate the tokens?', answer: 'docs/recipes/tokens.md#rotate-each-token' },
  { question: 'How does team X get at most 5 runners?', answer: 'docs/recipes/teams.md#a-team-at-most-5-runners' },
  { question: 'What if Argo CD is down?', answer: 'docs/recipes/disaster.md#argo-cd-is-down-for-a-day' },
  { question: 'How do I get arm64 runners?', answer: 'docs/recipes/machines.md#arm64-beside-amd64' },
  { question: 'How do I use a GPU?', answer: 'docs/recipes/gpu.md#gpu-with-a-cuda-image' },
  { question: 'How do I use kustomize?', answer: 'docs/recipes/gitops.md#kustomize-overlays' },
  { question: 'How many nodes do I need?', answer: 'docs/recipes/capacity.md#how-many-nodes-which-requests' },
  { question: 'Does it work without Argo CD?', answer: 'docs/recipes/without-argo-cd.md#without-argo-cd' },
  { question: 'Does it run Windows jobs?', answer: 'docs/faq.md#does-it-run-windows-or-macos-jobs' },
  { question: 'Where is the history of jobs, and what do they cost?', answer: 'docs/report.md#ask' },
  { question: 'How do developers see their jobs in a browser?', answer: 'docs/page.md#set-it-up' },
  { question: 'May a developer run explain?', answer: 'docs/faq.md#may-a-developer-run-explain' },
  {
    question: 'Can ARC serve Gitea?',
    thread: 'go-gitea/gitea#29567',
    answer: 'docs/faq.md#can-i-use-arc-with-gitea',
  },
  { question: 'Can KEDA scale Gitea’s runners?', thread: 'kedacore/keda#8086', answer: 'docs/faq.md#why-not-keda' },
  {
    question: 'Which rights does the API token need for which scope?',
    thread: 'kedacore/keda-docs#1851',
    answer: 'docs/commands.md#token-scopes',
  },
  {
    question: 'What can a CI job reach through docker’s socket?',
    thread: 'go-gitea/gitea#24438',
    answer: 'docs/security.md#a-ci-job',
  },
  {
    question: 'Can somebody who pushes a workflow get at the node?',
    thread: 'actions/actions-runner-controller#1288',
    answer: 'docs/security.md#workflow-authors',
  },
  {
    question: 'Are pods stopped while they run a job?',
    thread: 'actions/actions-runner-controller#1534',
    answer: 'docs/faq.md#can-a-running-job-be-killed-by-a-change-of-the-queue',
  },
  {
    question: 'Is a runner removed while its node still starts?',
    thread: 'actions/actions-runner-controller#3581',
    answer: 'docs/faq.md#is-a-runner-given-up-while-its-node-still-starts',
  },
  {
    question: 'How long does a job wait for its runner?',
    thread: 'actions/actions-runner-controller#3704',
    answer: 'docs/performance.md#from-a-queued-job-to-its-runner',
  },
  {
    question: 'Can some runners always be idle, also while others work?',
    thread: 'actions/actions-runner-controller#2968',
    answer: 'docs/runnergroup.md#warm-pool',
  },
  {
    question: 'Can a command run before a runner registers?',
    thread: 'actions/actions-runner-controller#2484',
    answer: 'docs/runnergroup.md#warm-pool',
  },
  {
    question: 'How do dead runners leave Gitea’s list?',
    thread: 'go-gitea/gitea#33750',
    answer: 'docs/commands.md#sweep',
  },
  {
    question: 'What happens to a job whose runner is OOM-killed?',
    thread: 'actions/actions-runner-controller#3319',
    answer: 'docs/losses.md#when-a-runner-is-lost',
  },
  {
    question: 'Can one repository take all runners?',
    thread: 'actions/actions-runner-controller#2736',
    answer: 'docs/runnergroup.md#several-groups-several-applications',
  },
  {
    question: 'Are runners started by the labels of the jobs?',
    thread: 'actions/actions-runner-controller#703',
    answer: 'docs/runnergroup.md#labels',
  },
  {
    question: 'Is the Application out of sync when a Job has ended?',
    thread: 'argoproj/argo-cd#8586',
    answer: 'docs/faq.md#does-argo-cd-fight-with-jobs-that-end',
  },
  {
    question: 'Does it give up when runners have failed some times?',
    thread: 'actions/actions-runner-controller#4102',
    answer: 'docs/faq.md#what-if-runners-fail-again-and-again',
  },
  {
    question: 'Can it believe in runners that are not there?',
    thread: 'actions/actions-runner-controller#3821',
    answer: 'docs/planner.md#what-it-looks-at',
  },
  {
    question: 'How do I see how many jobs are queued?',
    thread: 'go-gitea/gitea#34394',
    answer: 'docs/serve.md#metrics',
  },
  {
    question: 'Rootless docker does not start in my cluster: which modes are there?',
    thread: 'vegardit/docker-gitea-act-runner#48',
    answer: 'docs/runnergroup.md#container-modes',
  },
  {
    question: 'Does it meet rate limits?',
    thread: 'actions/actions-runner-controller#206',
    answer: 'docs/serve.md#requests-to-gitea',
  },
];

const markdownOf = new Map(allPages().map(({ file, markdown }) => [file, markdown]));

/** Pages that a page links to. */
function pagesFrom(file: string): readonly string[] {
  return linksOf(markdownOf.get(file) ?? '').map(({ path }) => normalize(join(dirname(file), path)));
}

const oneAway = pagesFrom('README.md');
const near = new Set([...oneAway, ...oneAway.flatMap(pagesFrom)]);

it('there are forty-one questions, twenty of them from threads, and no question twice', () => {
  expect(QUESTIONS).toHaveLength(41);
  expect(new Set(QUESTIONS.map(({ question }) => question)).size).toBe(41);
  expect(new Set(QUESTIONS.flatMap(({ thread }) => thread ?? [])).size).toBe(20);
});

it.each(QUESTIONS)('$question', ({ answer }) => {
  const [page = '', heading = ''] = answer.split('#');

  expect([...anchorsOf(readFileSync(page, 'utf8'))]).toContain(heading);
  expect([...near]).toContain(page);
});
