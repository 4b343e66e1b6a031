{{/* Our image: the digest wins over the tag. */}}
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
{{- if .Values.registrationSecrets.enabled -}}
{{- $names := join "," .Values.registrationSecrets.secretNames -}}
{{- $settings = merge $settings (dict "GITEA_RUNNERS_REGISTRATION_SECRETS" $names) -}}
{{- end -}}
{{- if $settings -}}
{{- toYaml $settings -}}
{{- end -}}
{{- end -}}
