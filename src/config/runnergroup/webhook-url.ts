/** Addresses of plain webhooks. It imports hardly anything: flags are read with it before anything else is loaded. */
import { parseUrl } from '../../shared/url.ts';

/** Undefined: it is an address that a webhook can have. */
export function webhookUrlProblem(text: string): string | undefined {
  const url = parseUrl(text);
  if (!url) return 'must be a URL, e.g. https://hooks.example.com/ci';
  const { protocol, username, password, hash } = url;
  if (protocol !== 'https:' && protocol !== 'http:') return 'must be a URL with https or http';
  if (username !== '' || password !== '') return 'must hold no login: it stands in git';
  return hash === '' ? undefined : 'must hold no fragment (#…)';
}
