import type { Path } from './documents.ts';

/** How a field is written that people leave out or fill with something else. By path, without what stands in a list. */
const EXAMPLES: Readonly<Record<string, string>> = {
  'metadata.name': 'name: ci',
  'spec.scope': 'scope: org',
  'spec.gitea': 'gitea: {url: https://gitea.example.com}',
  'spec.gitea.url': 'url: https://gitea.example.com',
  'spec.maxActiveRunners': 'maxActiveRunners: 10',
  'spec.registrationToken': 'registrationToken: {secretRef: {name: gitea-runner, key: registration-token}}',
  'spec.registrationToken.secretRef': 'secretRef: {name: gitea-runner, key: registration-token}',
  'spec.registrationToken.secretRef.name': 'name: gitea-runner',
  'spec.registrationToken.secretRef.key': 'key: registration-token',
  'spec.authToken': 'authToken: {secretRef: {name: gitea-api, key: token}}',
  'spec.authToken.secretRef': 'secretRef: {name: gitea-api, key: token}',
  'spec.authToken.secretRef.name': 'name: gitea-api',
  'spec.authToken.secretRef.key': 'key: token',
  'spec.cache.secretRef': 'secretRef: {name: runner-cache, key: secret}',
};

/** `, e.g. "scope: org"` */
export function exampleOf(path: Path): string {
  const example = EXAMPLES[path.join('.')];
  return example === undefined ? '' : `, e.g. "${example}"`;
}
