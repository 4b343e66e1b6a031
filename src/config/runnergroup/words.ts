/**
 * What a single text must be like, beyond its pattern. Each check answers a sentence on what is wrong, or nothing.
 * These texts end up in file paths, URLs, command lines and environment variables.
 */
import type * as z from 'zod';
import { normalBase } from '../../shared/base-url.ts';

/** One label as written, e.g. `ubuntu-latest:docker://image`, and its name, e.g. `ubuntu-latest`, which is all that Gitea sees. */
export interface RunnerLabel {
  readonly name: string;
  readonly text: string;
}

/** A label and what its jobs need; `foreign`: a schema that only runner 2.1 and newer take, as part of the name. */
export interface ParsedLabel extends RunnerLabel {
  readonly schema: 'host' | 'docker' | 'foreign';
}

/**
 * What `scripts/run.sh` of the runner splits, expands or takes for an option, and what its comma list would: the variable
 * stands there without quotes.
 */
const UNSAFE = /[\s,'"`\\$*?[\]\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
/** Nearly every label. Told first, because the tables of Unicode that `UNSAFE` needs cost a start 1 ms. */
const PLAIN = /^[A-Za-z0-9._:/@-]*$/;

/**
 * Reads `name`, `name:host`, `name:docker:image` or `name:docker://image` (runner, `internal/pkg/labels/labels.go`). Only the
 * name goes to Gitea. With any other schema the whole text is the name (runner 2.1 and newer).
 */
export function parseLabel(text: string): ParsedLabel | { readonly wrong: string } {
  if (!PLAIN.test(text) && UNSAFE.test(text)) {
    return {
      wrong:
        'must not contain spaces, commas, quotes, backslashes, "$", "`", "*", "?", "[", "]" or control characters: the runner\'s start script would split or expand it',
    };
  }
  if (text.startsWith('-')) return { wrong: 'must not start with "-": the runner would take it for an option' };
  const [name = '', schema, ...rest] = text.split(':');
  const argument = rest.join(':');
  if (name === '') return { wrong: 'must have a name before the colon' };
  if (schema === undefined) return { name, text, schema: 'host' };
  if (schema === 'host') {
    if (rest.length > 0) return { wrong: 'must end after ":host"' };
    return { name, text, schema };
  }
  if (schema === 'docker') {
    if (argument.replace(/^\/\//, '') === '') return { wrong: `must name an image: "${name}:docker://image"` };
    return { name, text, schema };
  }
  return { name: text, text, schema: 'foreign' };
}

/** A check as zod wants it: it answers what is wrong, or nothing. */
export function words<T>(check: (value: T) => string | undefined): (value: T, context: z.RefinementCtx) => void {
  return (value, context) => {
    const message = check(value);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  };
}

/** Name of a Secret, a ConfigMap and most other objects (Kubernetes `IsDNS1123Subdomain`). */
export const DNS_SUBDOMAIN = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;
/** The nearest DNS label: `CI_Runners` is `ci-runners`. Empty when no letter and digit is left. */
export function dnsLabelOf(text: string): string {
  const dashed = text.toLowerCase().replace(/[^a-z0-9]+/g, '-');
  return dashed.slice(0, 63).replace(/^-|-$/g, '');
}

/** Name of an image, with tag and digest as far as they are given. */
export const IMAGE_REFERENCE = /^[A-Za-z0-9][A-Za-z0-9._/:-]*(?:@sha256:[0-9a-f]{64})?$/;
export const LONGEST_IMAGE = 512;

/** An owner or repository name of Gitea must not climb out of an API path. */
export function checkGiteaName(name: string): string | undefined {
  if (name === '.' || name.includes('..')) return 'must not be "." and must not contain ".."';
  return undefined;
}

/** `name` or `owner/name`. */
export function checkRepository(text: string): string | undefined {
  return text
    .split('/')
    .map(checkGiteaName)
    .find((message) => message !== undefined);
}

/** Kubernetes `IsConfigMapKey`: a key is a file name when the Secret is mounted. */
export function checkSecretKey(key: string): string | undefined {
  if (key === '.' || key.startsWith('..')) return 'must not be "." and must not start with ".."';
  return undefined;
}

/** A URL that the pattern has let through must still be one. */
export function checkUrl(text: string): string | undefined {
  return normalBase(text) === undefined ? 'must be a URL with a host, e.g. https://gitea.example.com' : undefined;
}

/** The address of the API is below that of Gitea. */
export function checkGiteaUrl(text: string): string | undefined {
  return /\/api\/v1\/*$/.test(text) ? 'must be the address of Gitea itself: leave out "/api/v1"' : undefined;
}

/** One runner label in the runner's grammar. */
export function checkLabel(text: string): string | undefined {
  const parsed = parseLabel(text);
  return 'wrong' in parsed ? parsed.wrong : undefined;
}

const LABEL_NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;
const LABEL_PREFIX = /^(?=.{1,253}$)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;

/** A label of a Kubernetes object; `ofKey`: its key is wrong, not its value. */
export function checkObjectLabel(
  key: string,
  value: string,
): { readonly message: string; readonly ofKey: boolean } | undefined {
  if (!isQualifiedName(key)) return { message: 'must have a key such as "team" or "example.com/team"', ofKey: true };
  if (value === '' || LABEL_NAME.test(value)) return undefined;
  const message =
    'must be at most 63 letters, digits, dots, dashes and underscores, with a letter or digit at both ends';
  return { message, ofKey: false };
}

/** Kubernetes `IsQualifiedName`: `name` or `dns.prefix/name`. */
export function isQualifiedName(text: string): boolean {
  const [first = '', second, ...more] = text.split('/');
  if (more.length > 0) return false;
  return second === undefined ? LABEL_NAME.test(first) : LABEL_PREFIX.test(first) && LABEL_NAME.test(second);
}
