import { ApiObject } from 'cdk8s';
import type { IConstruct } from 'constructs';
import { PassThroughDocument } from './pass-through.ts';
import { document, ended, type Memo } from './yaml.ts';

/**
 * Everything as one YAML stream: the objects below `root` (an app or a chart) in order, then the texts of documents that
 * pass through. Each document follows a line `---`, also the first one: Kubernetes' decoder takes a stream that begins with
 * `{` for JSON and, before 1.33, stops after the first document. Nothing to say is an empty string.
 * @param passThrough each the text of one YAML or JSON document without markers; it stays as it is.
 */
export function renderManifests(root: IConstruct, passThrough: readonly string[] = []): string {
  const memo: Memo = new WeakMap();
  const own = root.node.findAll().flatMap((construct) => {
    if (construct instanceof PassThroughDocument) return [ended(construct.text)];
    return ApiObject.isApiObject(construct) ? [document(construct.toJson(), memo)] : [];
  });
  return [...own, ...passThrough.map(ended)].map((text) => `---\n${text}`).join('');
}
