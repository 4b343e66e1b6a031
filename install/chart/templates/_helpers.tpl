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
{{- with .Values.page -}}
{{- if .enabled -}}
{{- $page := dict "GITEA_RUNNERS_PAGE_LISTEN" ":8082" -}}
{{- $_ := set $page "GITEA_RUNNERS_PAGE_URL" (required "page.url is the address of the page in browsers" .url) -}}
{{- $_ := set $page "GITEA_RUNNERS_PAGE_GITEA" (required "page.gitea is the address of Gitea" .gitea) -}}
{{- $_ := set $page "GITEA_RUNNERS_PAGE_CLIENT_ID" (required "page.clientId is the id of the OAuth2 application" .clientId) -}}
{{- with .giteaPublic -}}{{- $_ := set $page "GITEA_RUNNERS_PAGE_GITEA_PUBLIC" . -}}{{- end -}}
{{- with .logUrl -}}{{- $_ := set $page "GITEA_RUNNERS_PAGE_LOG_URL" . -}}{{- end -}}
{{- $settings = merge $settings $page -}}
{{- end -}}
{{- end -}}
{{- if .Values.looks.enabled -}}
{{- $looks := dict "GITEA_RUNNERS_LOOKS" (printf "http://gitea-runners-looks.%s.svc:8083" .Release.Namespace) -}}
{{- $settings = merge $settings $looks (dict "GITEA_RUNNERS_LOOKS_LISTEN" ":8083") -}}
{{- end -}}
{{- if .Values.registrationSecrets.enabled -}}
{{- $names := join "," .Values.registrationSecrets.secretNames -}}
{{- $settings = merge $settings (dict "GITEA_RUNNERS_REGISTRATION_SECRETS" $names) -}}
{{- end -}}
{{- if $settings -}}
{{- toYaml $settings -}}
{{- end -}}
{{- end -}}
