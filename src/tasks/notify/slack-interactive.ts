/**
 * `POST /slack/interactive` on the port of webhooks: Slack tells that somebody pressed a button. Slack waits 3 s, so the answer is sent before the
 * runner is extended; what became of it is posted into the thread of the message.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { answer, readBody } from '../../serve/webhook/body.ts';
import { HalfBodies } from '../../serve/webhook/half-bodies.ts';
import type { Press, PressGate } from './slack-presses.ts';

export const INTERACTIVE_PATH = '/slack/interactive';
/** Slack repeats the whole message in a press; ours have about 2 KB. */
const MAX_PRESS_BYTES = 64 * 1024;
/** All bodies that are not complete yet. The oldest one gives way. */
const MEMORY_BYTES = 4 * 1024 * 1024;

export interface InteractiveOptions {
  readonly gate: PressGate;
  /** Called after the answer. It must not throw. */
  readonly onPress: (press: Press) => void;
}

export function interactiveListener(options: InteractiveOptions): RequestListener {
  const halves = new HalfBodies(MAX_PRESS_BYTES, MEMORY_BYTES);
  return (request, response) => {
    handle(request, response, options, halves).catch(() => response.destroy());
  };
}

async function handle(
  request: IncomingMessage,
  response: ServerResponse,
  { gate, onPress }: InteractiveOptions,
  halves: HalfBodies,
): Promise<void> {
  if (request.method !== 'POST') {
    answer(request, response, 405, 'Slack sends POST.');
    return;
  }
  const body = await readBody(request, MAX_PRESS_BYTES, halves);
  if (body === undefined) {
    answer(request, response, 413, `The body is longer than ${MAX_PRESS_BYTES} bytes.`);
    return;
  }
  const verdict = gate.judge({ headers: request.headers, body });
  if (verdict.is === 'refused') {
    answer(request, response, verdict.status, verdict.message);
    return;
  }
  answer(request, response, 200, '');
  onPress(verdict.press);
}
