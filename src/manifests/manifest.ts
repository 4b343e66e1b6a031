import { ApiObject } from 'cdk8s';
import type { Construct } from 'constructs';
import type { ObjectManifest } from './group-manifest.ts';

/**
 * An object that is finished when it comes here. It renders as it is: cdk8s would drop nulls, sort keys and walk the same
 * pod template once per runner. Patches and metadata set on it later have no effect.
 */
export class Manifest extends ApiObject {
  readonly #manifest: ObjectManifest;

  constructor(scope: Construct, id: string, manifest: ObjectManifest) {
    const { name, namespace } = manifest.metadata;
    super(scope, id, {
      apiVersion: manifest.apiVersion,
      kind: manifest.kind,
      metadata: { name, ...(namespace !== undefined && { namespace }) },
    });
    this.#manifest = manifest;
  }

  override toJson(): ObjectManifest {
    return this.#manifest;
  }
}
