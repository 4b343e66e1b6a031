/** Patterns of a policy: for names, images, registries and repositories. Pure. */
import { normalBase } from '../../shared/url.ts';
import { LONGEST_IMAGE } from '../runnergroup/words.ts';

/** True if the whole text fits: `*` is any text without a slash, `**` any text. A regular expression could take very long. */
export function matchesGlob(pattern: string, text: string): boolean {
  // Positions in the text up to which the pattern matches so far.
  let ends: ReadonlySet<number> = new Set([0]);
  // Each step is a character or one of the two stars.
  for (const step of pattern.match(/\*\*+|[\s\S]/g) ?? []) {
    ends = endsAfter(step, ends, text);
    if (ends.size === 0) return false;
  }
  return ends.has(text.length);
}

function endsAfter(step: string, before: ReadonlySet<number>, text: string): ReadonlySet<number> {
  const after = new Set<number>();
  for (const end of before) {
    if (!step.startsWith('*')) {
      if (text.charAt(end) === step) after.add(end + 1);
    } else if (!after.has(end)) {
      const slash = step === '*' ? text.indexOf('/', end) : -1;
      for (let at = end; at <= (slash < 0 ? text.length : slash); at += 1) after.add(at);
    }
  }
  return after;
}

export function matchesAny(patterns: readonly string[], text: string): boolean {
  return patterns.some((pattern) => matchesGlob(pattern, text));
}

type ImageReference = NonNullable<ReturnType<typeof parseImage>>;

/** An image reference or a pattern: registry, repository, tag, digest. */
const PARTS = /^([^/]+)\/([^:@]+)(?::([^@]+))?(?:@(.+))?$/;
const REGISTRY = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*(?::[0-9]{1,5})?$/;
const REPOSITORY = /^[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*)*$/;
const TAG = /^\w[-.\w]{0,127}$/;
const DIGEST = /^[a-z0-9]+(?:[+._-][a-z0-9]+)*:[0-9a-f]{32,128}$/;

const DOCKER_HUB = 'docker.io';

/**
 * Parses the name of an image. Its registry is in lower case, with the port if one is written. Undefined: no runtime
 * pulls it, or a runtime may read it in another way.
 */
export function parseImage(text: string) {
  if (text.length > LONGEST_IMAGE) return undefined;
  const [, host = '', repository = '', tag, digest] = PARTS.exec(withRegistry(text)) ?? [];
  const registry = host.toLowerCase() === 'index.docker.io' ? DOCKER_HUB : host.toLowerCase();
  if (!REGISTRY.test(registry) || (tag !== undefined && !TAG.test(tag))) return undefined;
  if (digest !== undefined && !DIGEST.test(digest)) return undefined;
  const full = registry === DOCKER_HUB && !repository.includes('/') ? `library/${repository}` : repository;
  if (!REPOSITORY.test(full)) return undefined;
  // With a digest, the tag means nothing: only the digest decides which image runs.
  return { registry, repository: full, tag: digest === undefined ? (tag ?? 'latest') : tag, digest };
}

/** The part before the first slash is a registry if it could be a host (`splitDockerDomain`). */
function withRegistry(text: string): string {
  const [first = ''] = text.split('/', 1);
  const isHost = text.includes('/') && (/[.:]/.test(first) || first === 'localhost' || first !== first.toLowerCase());
  return isHost ? text : `${DOCKER_HUB}/${text}`;
}

export function wrongImagePattern(pattern: string): string | undefined {
  const [, registry = '', repository = '', , digest] = PARTS.exec(pattern) ?? [];
  if (!/[.:]|^localhost$/.test(registry) || !isRegistryPattern(registry))
    return 'must begin with the host of a registry, e.g. docker.io/gitea/runner or registry.example.com:5000/ci/**';
  if (!/^[a-z0-9/._*-]+$/.test(repository))
    return 'must be in lower case, as names of images are: registry/name, with a tag or digest if you like';
  if (digest !== undefined && digest !== '*' && !DIGEST.test(digest))
    return 'must have a full digest (sha256: and 64 hexadecimal digits), or "@*" for any';
  return REPOSITORY.test(repository.replace(/\*+/g, 'x')) ? undefined : 'has an empty or odd part between its slashes';
}

/** True for a host, perhaps with stars and a port. */
export function isRegistryPattern(pattern: string): boolean {
  return !pattern.includes('**') && REGISTRY.test(pattern.replace(/\*/g, 'x'));
}

/**
 * True if the pattern covers the image, part by part. Without tag and digest it covers every version. With a tag alone
 * it covers no image by digest, of which runtimes ignore the tag. `@*` covers every image with a digest.
 */
export function coversImage(pattern: string, image: ImageReference): boolean {
  const [, registry = '', repository = '', tag, digest] = PARTS.exec(pattern) ?? [];
  const path = registry === DOCKER_HUB && !repository.includes('/') ? `library/${repository}` : repository;
  if (!matchesGlob(registry, image.registry) || !matchesGlob(path, image.repository)) return false;
  if (digest !== undefined) {
    const isTagged = tag === undefined || matchesGlob(tag, image.tag ?? '');
    return isTagged && image.digest !== undefined && (digest === '*' || digest === image.digest);
  }
  if (tag === undefined) return true;
  return image.digest === undefined && image.tag !== undefined && matchesGlob(tag, image.tag);
}

/** `user@host:path`, as git reads it: no slash before the colon. */
const SCP_LIKE = /^(?:[\w.-]+@)?([A-Za-z0-9.-]+):(?!\/\/)\/*(.+)$/;
const SSH = /^ssh:\/\/(?:[\w.-]+@)?([A-Za-z0-9.-]+(?::[0-9]{1,5})?)\/+(.+)$/i;
/** Characters that some reader takes for a slash or an end, or ignores. The address of a repository never has them. */
const ODD = /[^\x21-\x7e]|[\\?#]|%2f|%5c|%00/i;

/** Returns a repository's address in normal form. Undefined: not http(s) or ssh, with credentials, or ambiguous. */
export function normalRepository(text: string): string | undefined {
  if (ODD.test(text)) return undefined;
  const [, host, path] = SSH.exec(text) ?? (text.includes('://') ? [] : (SCP_LIKE.exec(text) ?? []));
  if (host === undefined || path === undefined) return withoutEnding(normalBase(text));
  // The path is parsed as in a URL: dot segments are resolved, and escapes have one spelling.
  const base = normalBase(`http://${host.replace(/:22$/, '')}/${path}`);
  return withoutEnding(base?.replace(/^http:/, 'ssh:'));
}

function withoutEnding(base: string | undefined): string | undefined {
  return base?.replace(/\/{2,}/g, (slashes, index: number) => (index < 8 ? slashes : '/')).replace(/\.git$/, '');
}
