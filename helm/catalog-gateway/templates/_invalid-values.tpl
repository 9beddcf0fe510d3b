{{/* Fails with every error that the schema cannot find: values that contradict each other or the cluster. */}}
{{- define "catalog-gateway.refuseInvalidValues" -}}
{{- $settings := include "catalog-gateway.settings" . | fromYaml -}}
{{- $errors := include "catalog-gateway.addressErrors" (list "config" $settings) | fromJsonArray -}}
{{- if not (regexMatch "^[a-z]([a-z0-9-]*[a-z0-9])?$" (include "catalog-gateway.fullname" .)) -}}
{{- $errors = append $errors (printf "names of Services have lowercase letters, digits and dashes, and begin with a letter, but the name of the release leads to %q; expected another name, or fullnameOverride" (include "catalog-gateway.fullname" .)) -}}
{{- end -}}
{{- if eq (toString .Values.enabled) "false" -}}
{{- $errors = append $errors "enabled is false, which only a chart with this one as a dependency reads; expected condition: catalog-gateway.enabled in its Chart.yaml" -}}
{{- end -}}
{{- with .Values.autoscaling -}}
{{- if and .enabled (gt (int .minReplicas) (int .maxReplicas)) -}}
{{- $errors = append $errors (printf "autoscaling.minReplicas is %v and autoscaling.maxReplicas is %v; expected a minimum of at most the maximum" .minReplicas .maxReplicas) -}}
{{- end -}}
{{- end -}}
{{- $minimum := toString .Values.podDisruptionBudget.minAvailable -}}
{{- if and .Values.podDisruptionBudget.enabled $minimum -}}
{{- $replicas := dict (ternary "autoscaling.minReplicas" "replicaCount" .Values.autoscaling.enabled) (ternary .Values.autoscaling.minReplicas .Values.replicaCount .Values.autoscaling.enabled) -}}
{{- if .Values.catalog.enabled -}}
{{- $_ := set $replicas "catalog.replicaCount" .Values.catalog.replicaCount -}}
{{- end -}}
{{- range $path, $count := $replicas -}}
{{- /* Kubernetes rounds percentages up. */}}
{{- $number := int (trimSuffix "%" $minimum) -}}
{{- $pods := ternary (div (add (mul (int $count) $number) 99) 100) $number (hasSuffix "%" $minimum) -}}
{{- if ge (int $pods) (int $count) -}}
{{- $errors = append $errors (printf "podDisruptionBudget.minAvailable is %s and %s is %v: no pod may be evicted, so no drain of its node ends; expected podDisruptionBudget.maxUnavailable: 1, or more replicas" $minimum $path $count) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if not (or .Values.catalog.enabled (dig "upstream" "url" nil .Values.config) .Values.config.upstreams (include "catalog-gateway.hasVariables" (list . "UPSTREAM")) .Values.extraEnvFrom) -}}
{{- $errors = append $errors "there is no upstream; expected config.upstream.url, or catalog.enabled" -}}
{{- end -}}
{{- if not (or (include "catalog-gateway.hasBootstrapKey" .) (include "catalog-gateway.hasAuthentication" .) .Values.extraEnvFrom) -}}
{{- $errors = append $errors "nothing authenticates callers; expected apiKeys.existingSecret, config.identity or bootstrapKey.enabled" -}}
{{- end -}}
{{- if not (or (include "catalog-gateway.inlinePolicies" . | fromJson) .Values.policies.existingConfigMaps .Values.policies.kubernetes.enabled .Values.config.policies (include "catalog-gateway.hasVariables" (list . "POLICIES__")) .Values.extraEnvFrom) -}}
{{- $errors = append $errors "without policies every request is denied; expected policies.inline, policies.existingConfigMaps, policies.kubernetes.enabled or config.policies" -}}
{{- end -}}
{{- with include "catalog-gateway.otherPolicies" . -}}
{{- $unread := list -}}
{{- range $path, $value := dict "policies.inline" $.Values.policies.inline "policies.existingConfigMaps" $.Values.policies.existingConfigMaps -}}
{{- if $value }}{{ $unread = append $unread (printf "without %s" $path) }}{{ end -}}
{{- end -}}
{{- if $unread -}}
{{- $errors = append $errors (printf "with %s, gateways do not read the policy folder of the chart; expected it %s" . (join " and " $unread)) -}}
{{- end -}}
{{- end -}}
{{- if not .Values.persistence.enabled -}}
{{- if and (ne $settings.audit.mode "besteffort") (not $settings.audit.sinks) -}}
{{- $errors = append $errors "without persistence.enabled the audit log goes with the pod, but config.audit.mode is strict; expected besteffort, or config.audit.sinks" -}}
{{- end -}}
{{- end -}}
{{- if .Values.auditCompare.enabled -}}
{{- if not .Values.persistence.enabled -}}
{{- $errors = append $errors "auditCompare reads the audit logs on the volumes of the gateways; expected persistence.enabled" -}}
{{- else if .Values.autoscaling.enabled -}}
{{- $errors = append $errors "auditCompare mounts the volume of each gateway, and autoscaling changes their number; expected autoscaling.enabled: false" -}}
{{- else if and (gt (int .Values.replicaCount) 1) (not (has "ReadWriteMany" .Values.persistence.accessModes)) -}}
{{- $errors = append $errors "auditCompare mounts the volumes of all gateways in one pod; expected persistence.accessModes: [ReadWriteMany], or replicaCount: 1" -}}
{{- end -}}
{{- end -}}
{{- $namespace := include "catalog-gateway.namespace" . -}}
{{- range $component, $path := dict "gateway" "persistence" "catalog" "catalog.persistence" -}}
{{- $name := include "catalog-gateway.componentName" (list $ $component) -}}
{{- $present := dig "metadata" "annotations" "catalog-gateway/volume-claims" "" (lookup "apps/v1" "StatefulSet" $namespace $name) -}}
{{- $isStatefulSet := ternary $.Values.catalog.enabled $.Values.persistence.enabled (eq $component "catalog") -}}
{{- if and $present $isStatefulSet (ne $present (include "catalog-gateway.claimHash" (list $ $component))) -}}
{{- $errors = append $errors (printf "%s differs from that of the StatefulSet %s, whose volume claim templates Kubernetes does not change; expected the previous values, or first: kubectl delete statefulset %s --cascade=orphan --namespace %s" $path $name $name $namespace) -}}
{{- end -}}
{{- end -}}
{{- if and (include "catalog-gateway.hasReplicas" .) (not (dig "listing" "tokenKeyFile" "" $settings)) -}}
{{- $errors = append $errors "several gateways need the same secret for page tokens; expected pageTokens.existingSecret" -}}
{{- end -}}
{{- if and .Values.serviceMonitor.enabled .Values.networkPolicy.enabled (not .Values.networkPolicy.adminFrom) -}}
{{- $errors = append $errors "the NetworkPolicy would keep Prometheus out; expected networkPolicy.adminFrom" -}}
{{- end -}}
{{- if and .Values.service.nodePort (eq .Values.service.type "ClusterIP") -}}
{{- $errors = append $errors (printf "service.nodePort is %v and service.type is ClusterIP, which has no node ports; expected NodePort or LoadBalancer" .Values.service.nodePort) -}}
{{- end -}}
{{- if and .Values.ingress.enabled (not .Values.ingress.hosts) -}}
{{- $errors = append $errors "expected ingress.hosts with ingress.enabled" -}}
{{- end -}}
{{- if and .Values.httpRoute.enabled (not .Values.httpRoute.parentRefs) -}}
{{- $errors = append $errors "expected httpRoute.parentRefs with httpRoute.enabled" -}}
{{- end -}}
{{- if .Values.check.enabled -}}
{{- $errors = concat $errors (include "catalog-gateway.referenceErrors" . | fromJsonArray) -}}
{{- end -}}
{{- if .Values.policies.kubernetes.enabled -}}
{{- $errors = concat $errors (include "catalog-gateway.policyNamespaceErrors" . | fromJsonArray) -}}
{{- end -}}
{{- if .Values.catalog.enabled -}}
{{- $errors = concat $errors (include "catalog-gateway.catalogErrors" . | fromJsonArray) -}}
{{- end -}}
{{- if $errors -}}
{{- fail (printf "\n%s" (join "\n" $errors)) -}}
{{- end -}}
{{- end }}

{{/*
Secrets, ConfigMaps and claims of the values that do not exist, as a list in JSON: pods would wait for them without a word
from helm. Without access to the cluster, which has an account `default` in each Kubernetes namespace, there are none.
*/}}
{{- define "catalog-gateway.referenceErrors" -}}
{{- $errors := list -}}
{{- $namespace := include "catalog-gateway.namespace" . -}}
{{- if and .Values.serviceAccount.create (lookup "v1" "ServiceAccount" $namespace "default") -}}
{{- range include "catalog-gateway.references" . | fromJsonArray -}}
{{- $path := index . 0 -}}
{{- $kind := index . 1 -}}
{{- $keys := slice . 3 -}}
{{- with tpl (index . 2) $ -}}
{{- $present := lookup "v1" $kind $namespace . -}}
{{- if not $present -}}
{{- $errors = append $errors (printf "%s names the %s %s, which does not exist in the Kubernetes namespace %s; expected an existing one, or check.enabled: false if it is created later" $path $kind . $namespace) -}}
{{- else -}}
{{- range $key := $keys -}}
{{- if not (hasKey (default dict $present.data) $key) -}}
{{- $errors = append $errors (printf "%s names the %s %s, which has no key %s; expected it, or check.enabled: false if it is added later" $path $kind $present.metadata.name $key) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $errors -}}
{{- end }}

{{/* What the values name of the cluster, as a list in JSON of the path, the kind, the name or nothing, and keys. */}}
{{- define "catalog-gateway.references" -}}
{{- $references := list
  (list "apiKeys.existingSecret" "Secret" .Values.apiKeys.existingSecret "pepper")
  (list "pageTokens.existingSecret" "Secret" .Values.pageTokens.existingSecret .Values.pageTokens.key)
  (list "tests.apiKey.existingSecret" "Secret" .Values.tests.apiKey.existingSecret .Values.tests.apiKey.key)
  (list "tests.caCertificate.existingSecret" "Secret" .Values.tests.caCertificate.existingSecret .Values.tests.caCertificate.key)
-}}
{{- range .Values.existingSecrets -}}
{{- $references = append $references (list "existingSecrets" "Secret" .) -}}
{{- end -}}
{{- range .Values.policies.existingConfigMaps -}}
{{- $references = append $references (list "policies.existingConfigMaps" "ConfigMap" .) -}}
{{- end -}}
{{- with .Values.catalog -}}
{{- if .enabled -}}
{{- $references = concat $references (list
  (list "catalog.accessToken.existingSecret" "Secret" .accessToken.existingSecret .accessToken.key)
  (list "catalog.postgres.existingSecret" "Secret" .postgres.existingSecret .postgres.key)
  (list "catalog.persistence.existingClaim" "PersistentVolumeClaim" .persistence.existingClaim)
) -}}
{{- end -}}
{{- end -}}
{{- range $prefix, $values := dict "" .Values "catalog." (ternary .Values.catalog dict .Values.catalog.enabled) -}}
{{- range $values.extraEnv -}}
{{- with dig "valueFrom" "secretKeyRef" dict . -}}
{{- if not .optional -}}
{{- $references = append $references (list (print $prefix "extraEnv") "Secret" .name .key) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $source := $values.extraEnvFrom -}}
{{- range $member, $kind := dict "secretRef" "Secret" "configMapRef" "ConfigMap" -}}
{{- with get $source $member -}}
{{- if not .optional -}}
{{- $references = append $references (list (print $prefix "extraEnvFrom") $kind .name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $values.extraVolumes -}}
{{- with .secret -}}
{{- if not .optional -}}
{{- $references = append $references (list (print $prefix "extraVolumes") "Secret" .secretName) -}}
{{- end -}}
{{- end -}}
{{- with .configMap -}}
{{- if not .optional -}}
{{- $references = append $references (list (print $prefix "extraVolumes") "ConfigMap" .name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $references -}}
{{- end }}

{{/* Errors in the Kubernetes namespaces with policies, as a list in JSON. */}}
{{- define "catalog-gateway.policyNamespaceErrors" -}}
{{- $errors := list -}}
{{- $names := list -}}
{{- range include "catalog-gateway.policyNamespaces" . | fromJsonArray -}}
{{- if has .name $names -}}
{{- $errors = append $errors (printf "policies.kubernetes has the Kubernetes namespace %s twice; expected each once, in platformNamespaces or in delegations" .name) -}}
{{- end -}}
{{- $names = append $names .name -}}
{{- if not (or .platform .uid) -}}
{{- $errors = append $errors (printf "policies.kubernetes does not know the uid of the Kubernetes namespace %s, which does not exist or cannot be looked up; expected an existing one, or its uid in the values (kubectl get namespace %s --output jsonpath={.metadata.uid})" .name .name) -}}
{{- end -}}
{{- end -}}
{{- if not $names -}}
{{- $errors = append $errors "no Kubernetes namespace may have policies; expected policies.kubernetes.platformNamespaces or policies.kubernetes.delegations" -}}
{{- end -}}
{{- toJson $errors -}}
{{- end }}

{{/* Errors in the values of the bundled catalog, as a list in JSON. */}}
{{- define "catalog-gateway.catalogErrors" -}}
{{- $settings := include "catalog-gateway.catalogSettings" . | fromYaml -}}
{{- $errors := include "catalog-gateway.addressErrors" (list "catalog.config" $settings) | fromJsonArray -}}
{{- $catalog := .Values.catalog -}}
{{- $hasVolume := or $catalog.persistence.enabled $catalog.persistence.existingClaim -}}
{{- $isInFolder := dig "data" "folder" "" $settings -}}
{{- $isInFile := dig "store" "folder" "" $settings -}}
{{- if or (dig "upstream" "url" nil .Values.config) (include "catalog-gateway.hasVariables" (list . "UPSTREAM__URL")) -}}
{{- $errors = append $errors "the bundled catalog would get no requests, because settings or environment variables name another upstream; expected catalog.enabled: false" -}}
{{- end -}}
{{- if and (or $isInFolder $isInFile) (not $hasVolume) -}}
{{- $errors = append $errors "without a volume, tables in a folder and a catalog in SQLite go with the pod; expected catalog.persistence, or catalog.config.data.s3 with catalog.postgres" -}}
{{- end -}}
{{- if gt (int $catalog.replicaCount) 1 -}}
{{- if $isInFile -}}
{{- $errors = append $errors "several catalogs cannot share SQLite; expected catalog.postgres.existingSecret with catalog.replicaCount" -}}
{{- end -}}
{{- if and $isInFolder (not $catalog.persistence.existingClaim) -}}
{{- $errors = append $errors "several catalogs need the same tables; expected catalog.config.data.s3, or catalog.persistence.existingClaim that many can mount" -}}
{{- end -}}
{{- end -}}
{{- toJson $errors -}}
{{- end }}

{{/* Addresses on which a pod cannot be reached, as a list in JSON; takes (list PATH SETTINGS). */}}
{{- define "catalog-gateway.addressErrors" -}}
{{- $errors := list -}}
{{- $path := index . 0 -}}
{{- $settings := index . 1 -}}
{{- range $section := list "listen" "admin" -}}
{{- with get $settings $section -}}
{{- if regexMatch "^(localhost|127[.].*|::1)$" .host -}}
{{- $errors = append $errors (printf "nothing outside of the pod reaches %s.%s.host: %s; expected 0.0.0.0 or ::" $path $section .host) -}}
{{- end -}}
{{- if not .port -}}
{{- $errors = append $errors (printf "%s.%s.port is 0, and the Service needs a fixed port; expected one from 1 to 65535" $path $section) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- with $settings.passThrough -}}
{{- if not .port -}}
{{- $errors = append $errors (printf "%s.passThrough.port is 0, and the Service needs a fixed port; expected one from 1 to 65535" $path) -}}
{{- end -}}
{{- end -}}
{{- if and (hasKey $settings "admin") (eq (int $settings.listen.port) (int $settings.admin.port)) -}}
{{- $errors = append $errors (printf "%s.listen.port and %s.admin.port are both %v; expected two ports" $path $path $settings.listen.port) -}}
{{- end -}}
{{- toJson $errors -}}
{{- end }}
