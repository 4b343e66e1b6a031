/** The text of src/config/pods/pod-schema.json. */
export function podSchema(swagger: unknown, kubernetes: string, checksum: string): string;

/** Version and checksum of the Kubernetes module that test/servers builds. */
export function pinnedKubernetes(): { readonly version: string; readonly checksum: string };
