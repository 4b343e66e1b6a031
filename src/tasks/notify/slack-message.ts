/** A notification as a Slack message (Block Kit). Every name is escaped: it can neither link nor mention anybody. */
import type { ChatPostMessageArguments, KnownBlock } from '@slack/web-api';
import { timeText } from '../../shared/marks.ts';
import type { JobNotice } from './notice.ts';

/** Of the button; `value` is `<namespace>/<runner>`. */
export const EXTEND_ACTION = 'gitea-runners-extend-1h';

const WORDS: Readonly<Record<JobNotice['result'], string>> = {
  success: 'succeeded',
  failure: 'failed',
  cancelled: 'was cancelled',
  skipped: 'was skipped',
};

/** @param canExtend the button works: somebody can press it. */
export function slackMessage(channel: string, notice: JobNotice, canExtend: boolean): ChatPostMessageArguments {
  const { group, job, keptUntilMs, namespace, repository, result, runner, url, workflow } = notice;
  const name = workflow === undefined ? job : `${workflow} / ${job}`;
  // Slack ends a link at > and its text at |.
  const link =
    url === '' ? escaped(name) : `<${escaped(url).replaceAll('|', '%7C')}|${escaped(name).replaceAll('|', '¦')}>`;
  const facts = [
    `Repository: ${escaped(repository)}`,
    `Runner: ${escaped(namespace)}/job/${escaped(runner)} (RunnerGroup ${escaped(group)})`,
    ...(keptUntilMs === undefined ? [] : [`Its pod is kept until ${timeText(keptUntilMs)}`]),
  ];
  const blocks: KnownBlock[] = [
    { type: 'section', text: { type: 'mrkdwn', text: `${link} *${WORDS[result]}*`, verbatim: true } },
    { type: 'context', elements: facts.map((text) => ({ type: 'mrkdwn', text, verbatim: true })) },
  ];
  if (keptUntilMs !== undefined && canExtend) blocks.push(extendButton(`${namespace}/${runner}`));
  return {
    channel,
    // For lists and notifications of devices.
    text: `${escaped(repository)}: ${escaped(name)} ${WORDS[result]}`,
    blocks,
    unfurl_links: false,
    unfurl_media: false,
  };
}

function extendButton(value: string): KnownBlock {
  const text = { type: 'plain_text', text: 'Keep 1 h longer' } as const;
  return { type: 'actions', elements: [{ type: 'button', text, action_id: EXTEND_ACTION, value }] };
}

/** Slack's own rule: these three characters, and no others. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
