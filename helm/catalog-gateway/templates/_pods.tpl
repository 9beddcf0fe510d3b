{{/* What all pods have in common; takes (list . VALUES), the values of the kind of pod. */}}
{{- define "catalog-gateway.pod" -}}
{{- $root := index . 0 -}}
securityContext: {{ toYaml $root.Values.podSecurityContext | nindent 2 }}
enableServiceLinks: false
{{- with $root.Values.imagePullSecrets }}
imagePullSecrets: {{ tpl (toYaml .) $root | nindent 2 }}
{{- end }}
{{- with (index . 1) }}
{{- with .priorityClassName }}
priorityClassName: {{ tpl . $root }}
{{- end }}
{{- with .nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .hostAliases }}
hostAliases: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .dnsPolicy }}
dnsPolicy: {{ . }}
{{- end }}
{{- with .dnsConfig }}
dnsConfig: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end }}

{{/* How a workload replaces its pods; takes (list VALUES FIELD), the field that has the strategy. */}}
{{- define "catalog-gateway.rollout" -}}
{{- $field := index . 1 -}}
{{- with index . 0 -}}
{{- with .minReadySeconds }}
minReadySeconds: {{ . }}
{{- end }}
{{- if ne (toString .revisionHistoryLimit) "" }}
revisionHistoryLimit: {{ .revisionHistoryLimit }}
{{- end }}
{{- with .updateStrategy }}
{{ $field }}: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end }}

{{/* Takes (list . VALUES COMPONENT). */}}
{{- define "catalog-gateway.topologySpread" -}}
{{- $selector := include "catalog-gateway.selector" (list (index . 0) (index . 2)) | fromYaml -}}
{{- with (index . 1).topologySpreadConstraints }}
topologySpreadConstraints:
{{- range . }}
  - {{ toYaml (hasKey . "labelSelector" | ternary . (merge (dict "labelSelector" (dict "matchLabels" $selector)) .)) | nindent 4 | trim }}
{{- end }}
{{- end }}
{{- end }}

{{/* What all containers have in common; takes (list . COMPONENT). */}}
{{- define "catalog-gateway.container" -}}
image: {{ include "catalog-gateway.image" . | quote }}
imagePullPolicy: {{ (index . 0).Values.image.pullPolicy }}
securityContext: {{ toYaml (index . 0).Values.securityContext | nindent 2 }}
{{- end }}

{{/* The volume claim template of a component, or nothing; takes (list . COMPONENT). */}}
{{- define "catalog-gateway.claim" -}}
{{- $root := index . 0 -}}
{{- $persistence := ternary $root.Values.catalog.persistence $root.Values.persistence (eq (index . 1) "catalog") -}}
{{- if and $persistence.enabled (not $persistence.existingClaim) -}}
metadata:
  name: data
  labels: {{ include "catalog-gateway.selector" . | nindent 4 }}
  {{- with $persistence.annotations }}
  annotations: {{ toYaml . | nindent 4 }}
  {{- end }}
spec:
  accessModes: {{ toYaml $persistence.accessModes | nindent 4 }}
  {{- with $persistence.storageClass }}
  storageClassName: {{ . }}
  {{- end }}
  resources:
    requests:
      storage: {{ $persistence.size }}
{{- end }}
{{- end }}

{{/* Identifies the volume claim template of a component, which Kubernetes does not change; takes (list . COMPONENT). */}}
{{- define "catalog-gateway.claimHash" -}}
{{- include "catalog-gateway.claim" . | fromYaml | toJson | sha256sum | trunc 16 -}}
{{- end }}

{{/*
The volume with the settings file; takes its name. The file comes from an annotation of the pod, not from a ConfigMap:
so a pod that restarts reads the settings of its own revision, and a rollback brings back those of its revision.
*/}}
{{- define "catalog-gateway.settingsVolume" -}}
- name: settings
  downwardAPI:
    items:
      - path: {{ . }}
        fieldRef: { fieldPath: "metadata.annotations['catalog-gateway/settings']" }
{{- end }}
