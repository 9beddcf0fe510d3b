{{/*
The name of everything: short enough that the suffixes of StatefulSets fit into a label. A hash keeps the names of
releases apart that only differ further on.
*/}}
{{- define "catalog-gateway.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- $default := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- $full := default $default .Values.fullnameOverride -}}
{{- if gt (len $full) 43 -}}
{{- $full = printf "%s-%s" ($full | trunc 34 | trimSuffix "-") ($full | sha256sum | trunc 8) -}}
{{- end -}}
{{- $full -}}
{{- end }}

{{/* The Kubernetes namespace of all objects but `extraObjects` and those of policies in other ones. */}}
{{- define "catalog-gateway.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride -}}
{{- end }}

{{/* Prefix of names that a release shares with others: of objects of the cluster, or in other namespaces. */}}
{{- define "catalog-gateway.clusterName" -}}
{{- include "catalog-gateway.namespace" . }}-{{ include "catalog-gateway.fullname" . }}
{{- end }}

{{/* Takes (list . COMPONENT). */}}
{{- define "catalog-gateway.componentName" -}}
{{- include "catalog-gateway.fullname" (index . 0) }}{{ if eq (index . 1) "catalog" }}-catalog{{ end }}
{{- end }}

{{/* Takes (list . COMPONENT SERVICEACCOUNT). */}}
{{- define "catalog-gateway.serviceAccountName" -}}
{{- with index . 2 -}}
{{- default (ternary (include "catalog-gateway.componentName" $) "default" .create) (tpl .name (index $ 0)) -}}
{{- end -}}
{{- end }}

{{/* What selects the pods of one component; takes (list . COMPONENT). */}}
{{- define "catalog-gateway.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ default $root.Chart.Name $root.Values.nameOverride | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{/* Labels of objects; takes (list . COMPONENT). Pod templates have only the selector, because a new label would restart pods. */}}
{{- define "catalog-gateway.labels" -}}
{{- include "catalog-gateway.labelsWith" (append . dict) }}
{{- end }}

{{/* Takes (list . COMPONENT LABELS). */}}
{{- define "catalog-gateway.labelsWith" -}}
{{- $root := index . 0 -}}
{{ include "catalog-gateway.selector" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" }}
{{- with merge (dict) (index . 2) $root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Takes (list . COMPONENT). */}}
{{- define "catalog-gateway.image" -}}
{{- $root := index . 0 -}}
{{- $image := $root.Values.image -}}
{{- if eq (index . 1) "catalog" -}}
{{- $own := $root.Values.catalog.image -}}
{{- $repository := default (printf "%s-catalog" $image.repository) $own.repository -}}
{{- $image = dict "repository" $repository "tag" (default $image.tag $own.tag) "digest" $own.digest -}}
{{- end -}}
{{- with $root.Values.global.imageRegistry }}{{ . }}/{{ end }}
{{- if $image.digest }}{{ $image.repository }}@{{ $image.digest }}
{{- else }}{{ $image.repository }}:{{ default $root.Chart.AppVersion $image.tag }}
{{- end }}
{{- end }}
