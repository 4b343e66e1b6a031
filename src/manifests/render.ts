import { ApiObject } from 'cdk8s';
import type { IConstruct } from 'constructs';
import { PassThroughDocument } from './pass-through.ts';
import { document, ended, type Memo } from './yaml.ts';

/**
 * Everything below `root` (an app or a chart) as one YAML stream, in the order of the tree. Each document follows a line `---`, also the
 * first one: Kubernetes' decoder takes a stream that begins with `{` for JSON and, before 1.33, stops after the first document. Nothing
 * to say is an empty string.
 */
export function renderManifests(root: IConstruct): string {
  const memo: Memo = new WeakMap();
  const texts = root.node.findAll().flatMap((construct) => {
    if (construct instanceof PassThroughDocument) return [ended(construct.text)];
    return ApiObject.isApiObject(construct) ? [document(construct.toJson(), memo)] : [];
  });
  return texts.map((text) => `---\n${text}`).join('');
}
