import { normalBase } from '../shared/base-url.ts';

/** A line of a file with secrets: `SECRET`, or `https://gitea.example.com SECRET`. */
export interface SecretLine {
  readonly secret: string;
  /** Normal form of the only base URL that the secret is for. Absent: it is for all. */
  readonly base?: string;
}

/** A line whose first word is no base URL is a secret as a whole: a secret may have spaces. */
export function secretLine(line: string): SecretLine {
  const [, url = '', secret = ''] = /^(https?:\/\/\S+)\s+(\S.*)$/.exec(line) ?? [];
  const base = normalBase(url);
  return base === undefined ? { secret: line } : { secret, base };
}
