#!/bin/sh
# The whole installation as one command, for a stock Argo CD. FOLDER is what `gitea-runners init FOLDER` wrote (docs/install.md):
#
#   sh install/install.sh FOLDER
#
# With FOLDER/values.yaml it installs by Helm, and the sidecar gets the image that these values name. Without, it applies plain YAML, and
# IMAGE names the image. The tokens are those of FOLDER/setup.sh. It can be run again, and stops at the first thing that fails.
set -eu
: "${1:?the folder that init wrote}" "${GITEA_API_TOKEN:?set it: its scope stands in setup.sh}" "${GITEA_OWNER_TOKEN:?set it: its scope stands in setup.sh}"
install=$(dirname "$0")
folder=$1
default=argocd-gitea-runners:0.2.0
# A group of FOLDER whose runners serve registers: serve creates their Secrets.
registers=
if grep -rqx ' *by: serve' "$folder"; then registers=yes; fi

# Adds to what is there: some objects are parts of Argo CD's own.
add() { sed "s|$default|$IMAGE|" "$@" | kubectl apply --server-side --field-manager=gitea-runners -f -; }

if test -f "$folder/values.yaml"; then
  helm upgrade --install gitea-runners "$install/chart" --namespace argocd --values "$folder/values.yaml" \
    ${registers:+--set runnerCredentials.enabled=true}
  IMAGE=$(kubectl -n argocd get deployment gitea-runners -o jsonpath='{.spec.template.spec.containers[?(@.name=="serve")].image}')
else
  : "${IMAGE:?without $folder/values.yaml}"
  add "$install/crd.yaml" "$install/gitea-runners.yaml" "$install/runners.yaml"
  test -z "$registers" || add "$install/runner-credentials.yaml"
fi
: "${IMAGE:?the Deployment gitea-runners names none}"

# Argo CD reads its settings a moment later. The account comes before its token, the Secrets before the sidecar that reads them.
add "$install/argocd-cm.yaml" "$install/argocd-rbac-cm.yaml"
tries=0
until argocd account get --account gitea-runners > /dev/null 2>&1; do
  tries=$((tries + 1))
  test "$tries" -lt 30 || { echo 'Argo CD does not know the account gitea-runners after 30 s. Is "argocd login" done?' >&2; exit 1; }
  sleep 1
done
(cd "$folder" && sh ./setup.sh)
add "$install/argocd-repo-server.yaml"
# Argo CD keeps an error of an Application that comes before its plugin, for minutes.
kubectl -n argocd rollout status deployment/argocd-repo-server --timeout=5m
kubectl -n argocd rollout status deployment/gitea-runners --timeout=5m
kubectl apply -f "$folder/argocd/application.yaml"
