/** Documents that say that they are RunnerGroups, and are none. */
import { nearestName } from './nearest.ts';
import { quoted } from './problems.ts';
import { API_VERSION, KIND } from './schema.ts';

const POLICY_KIND = 'RunnerPolicy';

/** A document that looks like a RunnerGroup and is not one. Passing it through would drop its runners without a message. */
export function claim(
  apiVersion: unknown,
  kind: unknown,
): { readonly path: string; readonly message: string } | undefined {
  const [group = ''] = String(apiVersion).split('/');
  if (kind === KIND) {
    return {
      path: 'apiVersion',
      message: `must be ${API_VERSION} for a RunnerGroup, not ${quoted(String(apiVersion))}`,
    };
  }
  if (group !== 'gitea.bpg.pw') return undefined;
  if (kind === POLICY_KIND) {
    return {
      path: 'kind',
      message: 'a RunnerPolicy is no manifest: keep it out of these files, and give it with --policy',
    };
  }
  const near = nearestName(String(kind), [KIND]);
  return {
    path: 'kind',
    message: `must be ${KIND}, not ${quoted(String(kind))}${near ? `; did you mean "${near}"?` : ''}`,
  };
}

/** The line that a document lacks to be a RunnerGroup. Undefined: it lacks none, or it does not say that it is one. */
export function lackingLine(document: Readonly<Record<string, unknown>>): string | undefined {
  const { apiVersion, kind } = document;
  // Also with other capitals, or with an invisible character.
  const has = (field: string) => Object.keys(document).some((key) => key.toLowerCase().includes(field));
  if (kind === KIND && !has('apiversion'))
    return `is a RunnerGroup without apiVersion: add "apiVersion: ${API_VERSION}"`;
  if (apiVersion === API_VERSION && !has('kind')) return `has no kind: add "kind: ${KIND}"`;
  return undefined;
}
