/**
 * Tests the parts of an image and the form of a repository. Their use in a policy: hostile.test.ts and check.test.ts.
 */
import { describe, expect, it } from 'vitest';
import {
  coversImage,
  isRegistryPattern,
  normalRepository,
  parseImage,
  wrongImagePattern,
} from '../../../src/config/policy/policy-patterns.ts';

const DIGEST = `sha256:${'a'.repeat(64)}`;

describe('an image', () => {
  it.each<[string, ReturnType<typeof parseImage>]>([
    ['debian', { registry: 'docker.io', repository: 'library/debian', tag: 'latest', digest: undefined }],
    ['debian:13', { registry: 'docker.io', repository: 'library/debian', tag: '13', digest: undefined }],
    // Without a slash, the first part is not a host.
    ['debian.evil', { registry: 'docker.io', repository: 'library/debian.evil', tag: 'latest', digest: undefined }],
    ['localhost', { registry: 'docker.io', repository: 'library/localhost', tag: 'latest', digest: undefined }],
    ['localhost/x', { registry: 'localhost', repository: 'x', tag: 'latest', digest: undefined }],
    ['Registry/x', { registry: 'registry', repository: 'x', tag: 'latest', digest: undefined }],
    ['acme/x', { registry: 'docker.io', repository: 'acme/x', tag: 'latest', digest: undefined }],
    // With a digest alone there is no tag.
    [`acme/x@${DIGEST}`, { registry: 'docker.io', repository: 'acme/x', tag: undefined, digest: DIGEST }],
    [`acme/x:1@${DIGEST}`, { registry: 'docker.io', repository: 'acme/x', tag: '1', digest: DIGEST }],
    ['acme/x@sha256:1', undefined],
    [`acme/x:-1@${DIGEST}`, undefined],
    ['Debian', undefined],
  ])('%s', (text, parts) => {
    expect(parseImage(text)).toEqual(parts);
  });

  it('an image has at most 512 characters', () => {
    expect(parseImage('a'.repeat(512))?.repository).toBe(`library/${'a'.repeat(512)}`);
    expect(parseImage('a'.repeat(513))).toBeUndefined();
  });
});

it('a pattern of Docker Hub without a folder covers what is in library', () => {
  const debian = { registry: 'docker.io', repository: 'library/debian', tag: '13', digest: undefined };

  expect(coversImage('docker.io/debian', debian)).toBe(true);
  expect(coversImage('registry.example.com/debian', { ...debian, registry: 'registry.example.com' })).toBe(false);
});

it.each([
  ['docker.io/Gitea/x', 'must be in lower case'],
  ['docker.io/gitea$/x', 'must be in lower case'],
  ['docker.io/gitea//x', 'has an empty or odd part'],
  ['docker.io/x@sha256:1', 'must have a full digest'],
  ['gitea/x', 'must begin with the host'],
])('a pattern is wrong: %s', (pattern, why) => {
  expect(wrongImagePattern(pattern)).toMatch(why);
});

it.each(['docker.io/gitea/x', 'docker.io/gitea/**', 'localhost/x', 'docker.io/x@*', `docker.io/x:1@${DIGEST}`])(
  'a pattern is right: %s',
  (pattern) => {
    expect(wrongImagePattern(pattern)).toBeUndefined();
  },
);

it.each([
  ['*.example.com:5000', true],
  ['**.example.com', false],
  ['a_b.example.com', false],
  ['example.com/x', false],
])('a pattern of registries may be %s: %s', (pattern, isRight) => {
  expect(isRegistryPattern(pattern)).toBe(isRight);
});

it.each([
  ['http://a//x', 'http://a/x'],
  ['https://ab.de//ops///runners.git', 'https://ab.de/ops/runners'],
  ['git@ab.de:ops//runners.git', 'ssh://ab.de/ops/runners'],
  // The address could be of ssh or of a scheme.
  ['git@ab.de:ops://runners', undefined],
])('the address of a repository: %s', (text, normal) => {
  expect(normalRepository(text)).toBe(normal);
});
