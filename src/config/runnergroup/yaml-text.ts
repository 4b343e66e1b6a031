import { stringify } from 'yaml';

/** A manifest for people, without line folding or anchors. kubectl reads YAML 1.1, where a bare `on` is true: such words are quoted. */
export function yamlText(value: unknown): string {
  return stringify(value, { lineWidth: 0, aliasDuplicateObjects: false, version: '1.1' });
}
