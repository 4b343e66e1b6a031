/** Values of the community chart `argo-cd` that have the effect of the patches in argocd-patches.ts. */
import * as k8s from 'cdk8s-plus-28/lib/imports/k8s.js';
import { ARGOCD_CM, ARGOCD_RBAC_CM } from './argocd-patches.ts';
import { REPO_SERVER_ACCOUNT } from './names.ts';
import { sidecar, sidecarVolumes } from './sidecar.ts';

/** The chart passes `extraContainers` through its template engine; nothing of ours holds `{{`. */
export function helmValues(): unknown {
  return {
    configs: { cm: ARGOCD_CM, rbac: ARGOCD_RBAC_CM },
    repoServer: {
      // By default its name follows from that of the release, and our role binding would not find it.
      serviceAccount: { name: REPO_SERVER_ACCOUNT },
      extraContainers: [plain(k8s.toJson_Container(sidecar()))],
      volumes: sidecarVolumes().map((volume) => plain(k8s.toJson_Volume(volume))),
    },
  };
}

/** Without the `undefined` members of the constructs, which YAML would show as null. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
