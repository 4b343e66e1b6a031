/** Parts of the Helm chart that are made of no object. */
import { HEADER } from '../manifest-file.ts';
import { API_SECRET, NAME, SERVE_SECRET, SETTINGS } from '../names.ts';

export const HELPERS = `{{/* Our image: the digest wins over the tag. */}}
{{- define "gitea-runners.image" -}}
{{- $image := .Values.image -}}
{{- $image.repository }}:{{ $image.tag | default .Chart.AppVersion }}
{{- with $image.digest }}@{{ . }}{{ end -}}
{{- end -}}

{{/* Environment of sidecar and serve. What a person sets wins over what follows from other values. */}}
{{- define "gitea-runners.settings" -}}
{{- $settings := deepCopy .Values.settings -}}
{{- if .Values.secretsApi.enabled -}}
{{- $settings = merge $settings (dict "GITEA_RUNNERS_SECRETS" "api") -}}
{{- end -}}
{{- with .Values.tracing -}}
{{- if .endpoint -}}
{{- $tracing := dict "GITEA_RUNNERS_TRACING_ENDPOINT" .endpoint -}}
{{- if .insecure -}}{{- $_ := set $tracing "GITEA_RUNNERS_TRACING_INSECURE" "true" -}}{{- end -}}
{{- with .sampler -}}{{- $_ := set $tracing "GITEA_RUNNERS_TRACING_SAMPLER" . -}}{{- end -}}
{{- with .samplerArg -}}{{- $_ := set $tracing "GITEA_RUNNERS_TRACING_SAMPLER_ARG" . -}}{{- end -}}
{{- $attributes := list -}}
{{- range $key, $value := .resourceAttributes -}}
{{- $attributes = append $attributes (printf "%s=%s" $key ($value | urlquery | replace "+" "%20")) -}}
{{- end -}}
{{- with $attributes -}}
{{- $_ := set $tracing "GITEA_RUNNERS_TRACING_RESOURCE_ATTRIBUTES" (join "," .) -}}
{{- end -}}
{{- $settings = merge $settings $tracing -}}
{{- end -}}
{{- end -}}
{{- if .Values.registrationSecrets.enabled -}}
{{- $names := join "," .Values.registrationSecrets.secretNames -}}
{{- $settings = merge $settings (dict "GITEA_RUNNERS_REGISTRATION_SECRETS" $names) -}}
{{- end -}}
{{- if $settings -}}
{{- toYaml $settings -}}
{{- end -}}
{{- end -}}
`;

/** The optional ConfigMap of docs/install.md, "Settings". */
export const SETTINGS_TEMPLATE = `${HEADER}{{- with include "gitea-runners.settings" $ }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: ${SETTINGS}
  namespace: {{ $.Release.Namespace }}
data:
{{ . | indent 2 }}
{{- end }}
`;

export const NOTES = `{{- $namespaces := .Values.runners.namespaces -}}
The rights and serve are there, in namespace {{ .Release.Namespace }}. Argo CD must be in this namespace, too.
serve starts when its Secret exists. What is left to do (docs/install.md):

1. The sidecar of Argo CD's repo-server: install/helm-values.yaml for the chart argo-cd, or install/argocd-*.yaml.

2. Secrets:
   {{ if .Values.secretsApi.enabled -}}
   each of {{ join ", " $namespaces }}: {{ join ", " .Values.secretsApi.secretNames }} (keys token, url)
   {{- else -}}
   {{ .Release.Namespace }}: ${API_SECRET} (keys token, url)
   {{- end }}
   {{ .Release.Namespace }}: ${SERVE_SECRET} (keys argocd-token, webhook-secret)
   {{ if .Values.registrationSecrets.enabled -}}
   each of {{ join ", " $namespaces }}: {{ join ", " .Values.registrationSecrets.secretNames }} (empty: serve fills them)
   {{- else -}}
   {{ join ", " $namespaces }}: the registration token that your RunnerGroups name
   {{- end }}
   {{- if .Values.cache.enabled }}
   {{ .Values.cache.namespace }}: gitea-runner-cache (key secret)
   {{- end }}

3. The Application with your RunnerGroups: install/examples.

Then look:
  kubectl get runnergroups -n {{ first $namespaces }}
  kubectl logs -n {{ .Release.Namespace }} deployment/${NAME}
`;
