{{/* Ends the rendering with all that is wrong with the values together; the schema says what is wrong with one. */}}
{{- define "catalog-gateway.refuseMistakes" -}}
{{- $settings := include "catalog-gateway.settings" . | fromYaml -}}
{{- $mistakes := list -}}
{{- if not .Values.persistence.enabled -}}
{{- range $class := list "commit" "data" "admin" -}}
{{- $mode := dig "modes" $class "strict" $settings.audit -}}
{{- if and (has $mode (list "strict" "durable")) (not $settings.audit.sinks) -}}
{{- $mistakes = append $mistakes (printf "without persistence.enabled the audit log goes with the pod, but config.audit.modes.%s is %s; expected besteffort, or config.audit.sinks" $class $mode) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and (include "catalog-gateway.hasReplicas" .) (not (dig "listing" "tokenKeyFile" "" $settings)) -}}
{{- $mistakes = append $mistakes "several gateways need the same secret for page tokens; expected pageTokens.existingSecret" -}}
{{- end -}}
{{- if and .Values.serviceMonitor.enabled .Values.networkPolicy.enabled (not .Values.networkPolicy.adminFrom) -}}
{{- $mistakes = append $mistakes "the NetworkPolicy would keep Prometheus out; expected networkPolicy.adminFrom" -}}
{{- end -}}
{{- if and .Values.ingress.enabled (not .Values.ingress.hosts) -}}
{{- $mistakes = append $mistakes "expected ingress.hosts with ingress.enabled" -}}
{{- end -}}
{{- if and .Values.httpRoute.enabled (not .Values.httpRoute.parentRefs) -}}
{{- $mistakes = append $mistakes "expected httpRoute.parentRefs with httpRoute.enabled" -}}
{{- end -}}
{{- if .Values.catalog.enabled -}}
{{- $mistakes = concat $mistakes (include "catalog-gateway.catalogMistakes" . | fromJsonArray) -}}
{{- end -}}
{{- if $mistakes -}}
{{- fail (printf "\n%s" (join "\n" $mistakes)) -}}
{{- end -}}
{{- end }}

{{/* What is wrong with the values of the bundled catalog, as a list in JSON. */}}
{{- define "catalog-gateway.catalogMistakes" -}}
{{- $settings := include "catalog-gateway.catalogSettings" . | fromYaml -}}
{{- $mistakes := list -}}
{{- $catalog := .Values.catalog -}}
{{- $hasVolume := or $catalog.persistence.enabled $catalog.persistence.existingClaim -}}
{{- $isInFolder := dig "data" "folder" "" $settings -}}
{{- $isInFile := dig "store" "folder" "" $settings -}}
{{- if not $catalog.accessToken.existingSecret -}}
{{- $mistakes = append $mistakes "the bundled catalog would let in everybody who can connect; expected catalog.accessToken.existingSecret" -}}
{{- end -}}
{{- if and (or $isInFolder $isInFile) (not $hasVolume) -}}
{{- $mistakes = append $mistakes "without a volume, tables in a folder and a catalog in SQLite go with the pod; expected catalog.persistence, or catalog.config.data.s3 with catalog.postgres" -}}
{{- end -}}
{{- if gt (int $catalog.replicaCount) 1 -}}
{{- if $isInFile -}}
{{- $mistakes = append $mistakes "several catalogs cannot share SQLite; expected catalog.postgres.existingSecret with catalog.replicaCount" -}}
{{- end -}}
{{- if and $isInFolder (not $catalog.persistence.existingClaim) -}}
{{- $mistakes = append $mistakes "several catalogs need the same tables; expected catalog.config.data.s3, or catalog.persistence.existingClaim that many can mount" -}}
{{- end -}}
{{- end -}}
{{- toJson $mistakes -}}
{{- end }}
