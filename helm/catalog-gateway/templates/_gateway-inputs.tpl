{{/*
What `serve`, `backend` and their checks read besides arguments. SOURCES names the ConfigMap `policies` and the Secrets `bootstrapKey`
and `catalogToken`: those of the release do not exist yet when its hook runs.
*/}}

{{/* SOURCES of a release that exists. */}}
{{- define "catalog-gateway.gatewaySources" -}}
policies: {{ include "catalog-gateway.fullname" . }}-policies
bootstrapKey: {{ include "catalog-gateway.bootstrapKeySecret" . }}
catalogToken: {{ include "catalog-gateway.catalogTokenSecret" . }}
{{- end }}

{{/* Takes (list . VALUES), the values of the kind of pod. */}}
{{- define "catalog-gateway.environment" -}}
{{- $root := index . 0 -}}
{{- with index . 1 -}}
{{- with .extraEnv }}
env: {{ tpl (toYaml .) $root | nindent 2 }}
{{- end }}
{{- with .extraEnvFrom }}
envFrom: {{ tpl (toYaml .) $root | nindent 2 }}
{{- end }}
{{- end }}
{{- end }}

{{/* Whether the gateway shows the bundled catalog the access token of the chart: a file, so that a new token is followed. */}}
{{- define "catalog-gateway.hasCatalogToken" -}}
{{- $hasOwn := dig "upstream" "credential" nil .Values.config -}}
{{- if and (include "catalog-gateway.isBeforeBundledCatalog" .) (not $hasOwn) -}}true{{- end -}}
{{- end }}

{{- define "catalog-gateway.gatewayMounts" -}}
- { name: settings, mountPath: /etc/catalog-gateway/gateway.yaml, subPath: gateway.yaml, readOnly: true }
- { name: data, mountPath: /var/lib/catalog-gateway }
{{- if include "catalog-gateway.inlinePolicies" . | fromJson }}
- { name: policies, mountPath: /etc/catalog-gateway/policies/inline, readOnly: true }
{{- end }}
{{- range $index, $name := .Values.policies.existingConfigMaps }}
- { name: policies-{{ $index }}, mountPath: /etc/catalog-gateway/policies/{{ tpl $name $ }}, readOnly: true }
{{- end }}
{{- if .Values.apiKeys.existingSecret }}
- { name: api-keys, mountPath: /etc/catalog-gateway/api-keys, readOnly: true }
{{- end }}
{{- if include "catalog-gateway.hasBootstrapKey" . }}
- { name: bootstrap-key, mountPath: /etc/catalog-gateway/bootstrap-key, readOnly: true }
{{- end }}
{{- if include "catalog-gateway.hasCatalogToken" . }}
- { name: catalog-token, mountPath: /etc/catalog-gateway/catalog-token, readOnly: true }
{{- end }}
{{- if .Values.pageTokens.existingSecret }}
- { name: page-tokens, mountPath: /etc/catalog-gateway/page-tokens, readOnly: true }
{{- end }}
{{- range $index, $name := .Values.existingSecrets }}
- { name: secret-{{ $index }}, mountPath: /etc/catalog-gateway/secrets/{{ tpl $name $ }}, readOnly: true }
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{- tpl (toYaml .) $ | nindent 0 }}
{{- end }}
{{- end }}

{{/* Takes (list . SOURCES). */}}
{{- define "catalog-gateway.gatewayVolumes" -}}
{{- $root := index . 0 -}}
{{- $sources := index . 1 -}}
{{- with $root -}}
{{- include "catalog-gateway.settingsVolume" "gateway.yaml" }}
{{- with include "catalog-gateway.inlinePolicies" . | fromJson }}
- name: policies
  configMap:
    name: {{ $sources.policies }}
    items:
      {{- range $path := keys . | sortAlpha }}
      - { key: {{ include "catalog-gateway.policyKey" $path }}, path: {{ $path }} }
      {{- end }}
{{- end }}
{{- range $index, $name := .Values.policies.existingConfigMaps }}
- name: policies-{{ $index }}
  configMap: { name: {{ tpl $name $root }} }
{{- end }}
{{- with .Values.apiKeys.existingSecret }}
- name: api-keys
  secret: { secretName: {{ tpl . $root }}, defaultMode: 0440 }
{{- end }}
{{- if include "catalog-gateway.hasBootstrapKey" . }}
- name: bootstrap-key
  secret: { secretName: {{ $sources.bootstrapKey }}, defaultMode: 0440 }
{{- end }}
{{- if include "catalog-gateway.hasCatalogToken" . }}
- name: catalog-token
  secret:
    secretName: {{ $sources.catalogToken }}
    items: [{ key: {{ .Values.catalog.accessToken.key }}, path: {{ .Values.catalog.accessToken.key }} }]
    defaultMode: 0440
{{- end }}
{{- with .Values.pageTokens.existingSecret }}
- name: page-tokens
  secret: { secretName: {{ tpl . $root }}, defaultMode: 0440 }
{{- end }}
{{- range $index, $name := .Values.existingSecrets }}
- name: secret-{{ $index }}
  secret: { secretName: {{ tpl $name $root }}, defaultMode: 0440 }
{{- end }}
{{- with .Values.extraVolumes }}
{{- tpl (toYaml .) $root | nindent 0 }}
{{- end }}
{{- end }}
{{- end }}

{{- define "catalog-gateway.catalogMounts" -}}
{{- with .Values.catalog -}}
- { name: settings, mountPath: /etc/catalog/catalog.yaml, subPath: catalog.yaml, readOnly: true }
- { name: access-tokens, mountPath: /etc/catalog/access-tokens, readOnly: true }
- { name: temporary, mountPath: /tmp }
{{- if or .persistence.enabled .persistence.existingClaim }}
- { name: data, mountPath: /var/lib/catalog }
{{- end }}
{{- if .postgres.existingSecret }}
- { name: postgres, mountPath: /etc/catalog/postgres, readOnly: true }
{{- end }}
{{- with .extraVolumeMounts }}
{{- tpl (toYaml .) $ | nindent 0 }}
{{- end }}
{{- end }}
{{- end }}

{{/* Takes (list . SECRET), the Secret with the access token. */}}
{{- define "catalog-gateway.catalogVolumes" -}}
{{- $root := index . 0 -}}
{{- include "catalog-gateway.settingsVolume" "catalog.yaml" }}
- name: access-tokens
  secret: { secretName: {{ index . 1 }}, defaultMode: 0440 }
- name: temporary
  emptyDir: {}
{{- with $root.Values.catalog }}
{{- with .postgres.existingSecret }}
- name: postgres
  secret: { secretName: {{ tpl . $root }}, defaultMode: 0440 }
{{- end }}
{{- with .extraVolumes }}
{{- tpl (toYaml .) $root | nindent 0 }}
{{- end }}
{{- end }}
{{- end }}
