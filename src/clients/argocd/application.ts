/**
 * Which Application an object belongs to, read from Argo CD's tracking annotation:
 *
 *   <application>:<group>/<Kind>:<namespace>/<name>
 *
 * (Argo CD 3.5.3 util/argo/resource_tracking.go, `BuildAppInstanceValue`). `<application>` is `<namespace>_<name>` for an Application
 * outside the control-plane namespace (`InstanceName` in pkg/apis/application/v1alpha1/types.go). Who can write the object can
 * write the annotation, so it is a hint where to look and never a proof; `wake.ts` asks Argo CD itself.
 */

/** An Application. Without `namespace` it lives in Argo CD's own (control-plane) namespace. */
export interface ApplicationRef {
  readonly namespace?: string;
  readonly name: string;
}

/** A namespaced Kubernetes object. `group` is empty for the core API. */
export type ObjectRef = Readonly<Record<'group' | 'kind' | 'namespace' | 'name', string>>;

/** Longest possible: five names of 253 characters, a Kind and the marks between them. */
const MAX_LENGTH = 1400;
const MAX_NAME = 253;
const LABEL = '[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?';
const WORD = '[a-z0-9](?:[-a-z0-9]*[a-z0-9])?';
const NAME = `${WORD}(?:\\.${WORD})*`;
const KIND = '[A-Za-z][A-Za-z0-9]{0,62}';
const TRACKING_ID = new RegExp(`^(?:(${LABEL})_)?(${NAME}):(${NAME})?/(${KIND}):(${LABEL})/(${NAME})$`);

/**
 * Undefined for anything that Argo CD would not write for a namespaced object. Also when the annotation names another object: a copy of a
 * managed object keeps that of its original.
 */
export function applicationOf(trackingId: string | undefined, object: ObjectRef): ApplicationRef | undefined {
  if (trackingId === undefined || trackingId.length > MAX_LENGTH) return undefined;
  const [, appNamespace, app = '', group = '', kind = '', namespace = '', name = ''] =
    TRACKING_ID.exec(trackingId) ?? [];
  if (app === '' || [app, group, name].some(({ length }) => length > MAX_NAME)) return undefined;
  if (objectKey({ group, kind, namespace, name }) !== objectKey(object)) return undefined;
  return { ...(appNamespace && { namespace: appNamespace }), name: app };
}

/** Equal for equal Applications, whether the control-plane namespace is written out or not. */
export function applicationKey({ namespace, name }: ApplicationRef, controlPlaneNamespace: string): string {
  return `${namespace ?? controlPlaneNamespace}/${name}`;
}

/** One text per object; its parts hold no slash. */
export function objectKey({ group, kind, namespace, name }: ObjectRef): string {
  return `${group}/${kind}/${namespace}/${name}`;
}
