/**
 * Reads the Application of an object from Argo CD's tracking annotation (3.5.3, `BuildAppInstanceValue`):
 *
 *   <application>:<group>/<Kind>:<namespace>/<name>
 *
 * Outside the control-plane namespace `<application>` is `<namespace>_<name>`. Everybody who can write the object can
 * write the annotation. So it tells where to look and proves nothing; wake.ts asks Argo CD itself.
 */
import { siblingOf } from '../../planner/evidence.ts';
import { SHARDS, type Texts } from '../../shared/marks.ts';

/** An Application. Without `namespace` it lives in Argo CD's own (control-plane) namespace. */
export type ApplicationRef = Readonly<{ namespace?: string; name: string }>;

/** A namespaced Kubernetes object. `group` is empty for the core API. */
export type ObjectRef = Readonly<Record<'group' | 'kind' | 'namespace' | 'name', string>>;

const MAX_NAME = 253;
const LABEL = '[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?';
const WORD = '[a-z0-9](?:[-a-z0-9]*[a-z0-9])?';
const INSTANCE = new RegExp(`^(?:(${LABEL})_)?(${WORD}(?:\\.${WORD})*)$`);
const MAX_INSTANCE = 63 + 1 + MAX_NAME;

/** Returns the Application that a tracking id names. Undefined: it is the id of another object, e.g. if this one is a copy. */
export function applicationOf(trackingId: string | undefined, object: ObjectRef): ApplicationRef | undefined {
  const objectKeyText = `:${object.group}/${object.kind}:${object.namespace}/${object.name}`;
  if (!trackingId?.endsWith(objectKeyText)) return undefined;
  const [, namespace, name = ''] =
    INSTANCE.exec(trackingId.slice(0, -objectKeyText.length).slice(0, MAX_INSTANCE + 1)) ?? [];
  if (name === '' || name.length > MAX_NAME) return undefined;
  return { ...(namespace && { namespace }), name };
}

/** Returns the Application's name as its Jobs and its plugin have it: `ARGOCD_APP_NAME`. */
export function instanceName({ namespace, name }: ApplicationRef): string {
  return namespace === undefined ? name : `${namespace}_${name}`;
}

/** Equal for equal Applications, whether the control-plane namespace is written out or not. */
export function applicationKey({ namespace, name }: ApplicationRef, controlPlaneNamespace: string): string {
  return `${namespace ?? controlPlaneNamespace}/${name}`;
}

/** A number of shards, from 1 to 100. Undefined: the text is none. */
export function readShards(text: string): number | undefined {
  return /^(?:[1-9]\d?|100)$/.test(text) ? Number(text) : undefined;
}

/** Returns how many Applications print the object, as shard 0 writes it. Undefined: one alone. */
export function shardCount(annotations: Texts | null | undefined): number | undefined {
  return readShards(annotations?.[SHARDS] ?? '');
}

/** Returns the names of all shards, this one first. Only this one if it is not shard 0. */
export function shardNames(application: string, shards: number): readonly string[] {
  if (!application.endsWith('-0')) return [application];
  return Array.from({ length: shards }, (_, shard) => siblingOf(application, shard));
}

/** Stands for "its plugin prints this shard" in what an Application manages. @param shard e.g. `2/7` */
export function shardRef(shard: string): ObjectRef {
  return { group: '', kind: 'Shard', namespace: '', name: shard };
}

/** Returns one key per object. Its parts hold no slash. */
export function objectKey({ group, kind, namespace, name }: ObjectRef): string {
  return `${group}/${kind}/${namespace}/${name}`;
}
