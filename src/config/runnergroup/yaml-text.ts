/** YAML for people. */
import { stringify } from 'yaml';

/** A manifest for people, without folds or anchors. Quotes words of YAML 1.1, which kubectl reads (`on` is true). */
export function yamlText(value: unknown): string {
  return stringify(value, { lineWidth: 0, aliasDuplicateObjects: false, version: '1.1' });
}
