{{/* Non-empty if the chart generates an API key: if nothing else authenticates callers. */}}
{{- define "catalog-gateway.hasBootstrapKey" -}}
{{- if and .Values.bootstrapKey.enabled (not (include "catalog-gateway.hasAuthentication" .)) }}true{{ end -}}
{{- end }}

{{- define "catalog-gateway.hasAuthentication" -}}
{{- $isConfigured := or .Values.apiKeys.existingSecret (include "catalog-gateway.hasVariables" (list . "IDENTITY__")) -}}
{{- range list "apiKeys" "bootstrapKey" "issuers" "kubernetes" "introspection" "clientCertificates" "anonymous" -}}
{{- $isConfigured = or $isConfigured (dig "identity" . nil $.Values.config) -}}
{{- end -}}
{{- if $isConfigured }}true{{ end -}}
{{- end }}

{{/* Non-empty if `extraEnv` has settings with that prefix; takes (list . PREFIX). */}}
{{- define "catalog-gateway.hasVariables" -}}
{{- $isSet := false -}}
{{- range (index . 0).Values.extraEnv -}}
{{- $isSet = or $isSet (hasPrefix (printf "CATALOG_GATEWAY__%s" (index $ 1)) .name) -}}
{{- end -}}
{{- if $isSet }}true{{ end -}}
{{- end }}

{{- define "catalog-gateway.bootstrapKeySecret" -}}
{{- include "catalog-gateway.fullname" . }}-bootstrap-key
{{- end }}

{{- define "catalog-gateway.catalogTokenSecret" -}}
{{- default (printf "%s-catalog-token" (include "catalog-gateway.fullname" .)) (tpl .Values.catalog.accessToken.existingSecret .) -}}
{{- end }}
