import { ApiObject } from 'cdk8s';
import type { Construct } from 'constructs';
import { ARGOCD_NAMESPACE } from './names.ts';

/**
 * The three patched objects of Argo CD with nothing of ours. Server-side apply removes the fields that a manager owned and does not
 * name any more. So, applied with our field manager, this takes out exactly what we have put in.
 */
export class Removal extends ApiObject {
  constructor(
    scope: Construct,
    id: string,
    props: { readonly kind: 'Deployment' | 'ConfigMap'; readonly name: string },
  ) {
    super(scope, id, {
      apiVersion: props.kind === 'Deployment' ? 'apps/v1' : 'v1',
      kind: props.kind,
      metadata: { name: props.name, namespace: ARGOCD_NAMESPACE },
    });
  }
}
