import { expect, it } from 'vitest';
import type { JobNotice } from '../../../src/serve/planning/events.ts';
import { shortName } from '../../../src/tasks/notify/job-ends.ts';
import { slackMessage } from '../../../src/tasks/notify/slack.ts';

const notice: JobNotice = {
  namespace: 'runners',
  group: 'ci',
  gitea: 'https://gitea.example.com',
  repository: 'acme/web',
  workflow: 'ci.yml',
  job: 'build',
  jobId: 7,
  attempt: 1,
  result: 'failure',
  url: 'https://gitea.example.com/acme/web/actions/runs/1/jobs/7',
  runner: 'ci-7-1-9c31e0aa',
};

it('a message names repository, workflow, job, result, page and runner', () => {
  expect(slackMessage(notice, false)).toEqual({
    text: 'acme/web: ci.yml / build failed',
    blocks: [
      {
        type: 'section',
        text: {
          type: 'mrkdwn',
          text: '<https://gitea.example.com/acme/web/actions/runs/1/jobs/7|ci.yml / build> *failed*',
          verbatim: true,
        },
      },
      {
        type: 'context',
        elements: [
          { type: 'mrkdwn', text: 'Repository: acme/web', verbatim: true },
          { type: 'mrkdwn', text: 'Runner: runners/job/ci-7-1-9c31e0aa (RunnerGroup ci)', verbatim: true },
        ],
      },
    ],
    unfurl_links: false,
    unfurl_media: false,
  });
});

it.each([
  ['<!channel>', '&lt;!channel&gt;'],
  ['<@U123|you>', '&lt;@U123¦you&gt;'],
  ['x|https://evil.example>', 'x¦https://evil.example&gt;'],
  ['a & b', 'a &amp; b'],
])('a job called %s mentions nobody and links nowhere', (job, shown) => {
  const { blocks } = slackMessage({ ...notice, job }, false);

  expect(JSON.stringify(blocks)).toContain(`|ci.yml / ${shown}> *failed*`);
});

it('a name becomes one printable line of bounded length', () => {
  expect(shortName('a\nb\u202e')).toBe('a\\nb\\u{202e}');
  expect(shortName('x'.repeat(10_000))).toHaveLength(201);
  // Half of a character is not Unicode: a receiver may refuse the whole message.
  expect(shortName(`${'x'.repeat(199)}😀😀`)).toBe(`${'x'.repeat(199)}…`);
});

it('a name is no link and no mention without a page either', () => {
  const message = slackMessage({ ...notice, url: '', job: 'https://evil.example #general' }, false);

  const text = { type: 'mrkdwn', text: 'ci.yml / https://evil.example #general *failed*', verbatim: true };
  expect(message).toMatchObject({ blocks: [{ type: 'section', text }, {}] });
});

it('a message says until when the pod is kept', () => {
  const kept = { ...notice, keptUntilMs: Date.UTC(2026, 10, 23, 12, 0, 0) };

  expect(JSON.stringify(slackMessage(kept, false))).toContain('Its pod is kept until 2026-11-23T12:00:00Z');
});
