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
