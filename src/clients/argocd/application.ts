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
export interface ObjectRef {
  readonly group: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

export interface TrackingId {
  readonly application: ApplicationRef;
  readonly object: ObjectRef;
}

/** Longest possible: five names of 253 characters, a Kind and the marks between them. */
const MAX_LENGTH = 1400;
const MAX_NAME = 253;
const DNS_NAME = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;
const DNS_LABEL = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
const TRACKING_ID = /^([^:/]+):([^:/]*)\/([^:/]+):([^:/]+)\/([^:/]+)$/;
const KIND = /^[A-Za-z][A-Za-z0-9]{0,62}$/;

/** Reads the annotation's value. Undefined for anything that Argo CD would not write for a namespaced object. */
export function parseTrackingId(text: string): TrackingId | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const [, instance = '', group = '', kind = '', namespace = '', name = ''] = TRACKING_ID.exec(text) ?? [];
  const application = parseInstanceName(instance);
  if (application === undefined || !KIND.test(kind) || !(group === '' || isDnsName(group))) return undefined;
  if (!DNS_LABEL.test(namespace) || !isDnsName(name)) return undefined;
  return { application, object: { group, kind, namespace, name } };
}

/**
 * The Application that this object says it belongs to. Undefined without an annotation, and when the annotation names another
 * object. A copy of a managed object keeps the annotation of its original, and is not managed itself.
 */
export function applicationOf(trackingId: string | undefined, object: ObjectRef): ApplicationRef | undefined {
  const read = trackingId === undefined ? undefined : parseTrackingId(trackingId);
  return read !== undefined && objectKey(read.object) === objectKey(object) ? read.application : undefined;
}

/** Equal for equal Applications, whether the control-plane namespace is written out or not. */
export function applicationKey({ namespace, name }: ApplicationRef, controlPlaneNamespace: string): string {
  return `${namespace ?? controlPlaneNamespace}/${name}`;
}

/** One text per object; its parts hold no slash. */
export function objectKey({ group, kind, namespace, name }: ObjectRef): string {
  return `${group}/${kind}/${namespace}/${name}`;
}

function parseInstanceName(text: string): ApplicationRef | undefined {
  const [first, second, ...rest] = text.split('_');
  if (first === undefined || rest.length > 0) return undefined;
  if (second === undefined) return isDnsName(first) ? { name: first } : undefined;
  return DNS_LABEL.test(first) && isDnsName(second) ? { namespace: first, name: second } : undefined;
}

function isDnsName(text: string): boolean {
  return text.length <= MAX_NAME && DNS_NAME.test(text);
}
