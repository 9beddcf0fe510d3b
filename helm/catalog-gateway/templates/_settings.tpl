{{/*
The settings of the gateway, as YAML: what `config` says, and for what it leaves open what holds in a cluster. Paths
are relative to the file itself. Merge functions would take a 0 or a false of the user for nothing.
*/}}
{{- define "catalog-gateway.settings" -}}
{{- $defaults := dict
  "listen.host" (include "catalog-gateway.anyAddress" .)
  "listen.port" 2333
  "admin.host" (include "catalog-gateway.anyAddress" .)
  "admin.port" 2334
  "policies.folder" "policies"
  "audit.folder" "/var/lib/catalog-gateway/audit"
  "timeouts.drainTimeoutMs" 30000
-}}
{{- $admin := printf "%s-admin" (include "catalog-gateway.fullname" .) -}}
{{- $namespace := include "catalog-gateway.namespace" . -}}
{{- $adminHosts := list -}}
{{- range $domain := list "" (printf ".%s" $namespace) (printf ".%s.svc" $namespace) (printf ".%s.svc.cluster.local" $namespace) -}}
{{- $adminHosts = append $adminHosts (printf ".%s%s" $admin $domain) -}}
{{- end -}}
{{- $_ := set $defaults "admin.allowedHosts" $adminHosts -}}
{{- if .Values.apiKeys.existingSecret -}}
{{- $_ := set $defaults "identity.apiKeys.store" "api-keys" -}}
{{- $_ := set $defaults "identity.apiKeys.pepperFile" "api-keys/pepper" -}}
{{- end -}}
{{- if include "catalog-gateway.hasBootstrapKey" . -}}
{{- $_ := set $defaults "identity.bootstrapKey.file" "bootstrap-key/api-key" -}}
{{- $_ := set $defaults "identity.bootstrapKey.principal" "administrator" -}}
{{- end -}}
{{- if .Values.policies.kubernetes.enabled -}}
{{- $_ := set $defaults "policies.kubernetes.namespaces" (include "catalog-gateway.policyNamespaces" . | fromJsonArray) -}}
{{- end -}}
{{- if .Values.pageTokens.existingSecret -}}
{{- $_ := set $defaults "listing.tokenKeyFile" (printf "page-tokens/%s" .Values.pageTokens.key) -}}
{{- end -}}
{{- if include "catalog-gateway.isBeforeBundledCatalog" . -}}
{{- $_ := set $defaults "upstream.url" (printf "http://%s:2335" (include "catalog-gateway.componentName" (list . "catalog"))) -}}
{{- $_ := set $defaults "databases" "namespaces" -}}
{{- end -}}
{{- if include "catalog-gateway.hasCatalogToken" . -}}
{{- $_ := set $defaults "upstream.credential.file" (printf "catalog-token/%s" .Values.catalog.accessToken.key) -}}
{{- end -}}
{{- include "catalog-gateway.withDefaults" (list .Values.config $defaults) -}}
{{- end }}

{{/* A duration of the settings: a number, or a text such as 30s or "1m 30s". What is none is refused by the check. */}}
{{- define "catalog-gateway.milliseconds" -}}
{{- if kindIs "string" . -}}
{{- $sum := 0.0 -}}
{{- range regexFindAll "[0-9.]+ ?[A-Za-z]+" (regexReplaceAll "[PT]" . " ") -1 -}}
{{- $unit := regexFind "[A-Za-z]+" . | lower -}}
{{- $factor := ternary 1 (get (dict "s" 1000 "m" 60000 "h" 3600000 "d" 86400000) (trunc 1 $unit)) (regexMatch "^m(s|il)" $unit) -}}
{{- $sum = addf $sum (mulf (regexFind "[0-9.]+" .) $factor) -}}
{{- end -}}
{{- ceil $sum | int -}}
{{- else -}}
{{- int . -}}
{{- end -}}
{{- end }}

{{/* Accepts connections on all addresses of a pod: with `::`, those of IPv4 as well. */}}
{{- define "catalog-gateway.anyAddress" -}}
{{- ternary "::" "0.0.0.0" (has "IPv6" .Values.service.ipFamilies) -}}
{{- end }}

{{/* The Kubernetes namespaces with policies, as a list of settings in JSON. */}}
{{- define "catalog-gateway.policyNamespaces" -}}
{{- $namespaces := list -}}
{{- range .Values.policies.kubernetes.platformNamespaces -}}
{{- $namespace := dict "name" (tpl .kubernetesNamespace $) "platform" true -}}
{{- with .uid -}}
{{- $_ := set $namespace "uid" . -}}
{{- end -}}
{{- $namespaces = append $namespaces $namespace -}}
{{- end -}}
{{- range .Values.policies.kubernetes.delegations -}}
{{- $name := tpl .kubernetesNamespace $ -}}
{{- $uid := default (dig "metadata" "uid" "" (lookup "v1" "Namespace" "" $name)) .uid -}}
{{- $namespaces = append $namespaces (set (set (omit . "kubernetesNamespace") "name" $name) "uid" $uid) -}}
{{- end -}}
{{- toJson $namespaces -}}
{{- end }}

{{/* The upstreams of `config`, as a list in JSON. */}}
{{- define "catalog-gateway.upstreams" -}}
{{- $upstreams := default list .Values.config.upstreams -}}
{{- with .Values.config.upstream -}}
{{- $upstreams = append $upstreams . -}}
{{- end -}}
{{- toJson $upstreams -}}
{{- end }}

{{/* The settings of the bundled catalog, as YAML. */}}
{{- define "catalog-gateway.catalogSettings" -}}
{{- $config := .Values.catalog.config -}}
{{- $defaults := dict "listen.host" (include "catalog-gateway.anyAddress" .) "listen.port" 2335 -}}
{{- $token := .Values.catalog.accessToken -}}
{{- $files := list (printf "access-tokens/%s" $token.key) (printf "access-tokens/%s" $token.additionalKey) -}}
{{- $_ := set $defaults "accessTokenFiles" $files -}}
{{- $isRemote := dig "catalog" "remote" nil $config -}}
{{- if not (or $isRemote (dig "data" "s3" nil $config)) -}}
{{- $_ := set $defaults "data.folder" "/var/lib/catalog/data" -}}
{{- end -}}
{{- if .Values.catalog.postgres.existingSecret -}}
{{- $_ := set $defaults "store.postgres.urlFile" (printf "postgres/%s" .Values.catalog.postgres.key) -}}
{{- else if not (or $isRemote (dig "store" "postgres" nil $config)) -}}
{{- $_ := set $defaults "store.folder" "/var/lib/catalog/store" -}}
{{- end -}}
{{- include "catalog-gateway.withDefaults" (list $config $defaults) -}}
{{- end }}

{{/* Takes (list SETTINGS DEFAULTS), the defaults by their path, and prints YAML. */}}
{{- define "catalog-gateway.withDefaults" -}}
{{- $settings := deepCopy (index . 0) -}}
{{- range $path, $value := index . 1 -}}
{{- $keys := splitList "." $path -}}
{{- $section := $settings -}}
{{- range initial $keys -}}
{{- if not (kindIs "map" (get $section .)) -}}
{{- $_ := set $section . dict -}}
{{- end -}}
{{- $section = get $section . -}}
{{- end -}}
{{- if not (hasKey $section (last $keys)) -}}
{{- $_ := set $section (last $keys) $value -}}
{{- end -}}
{{- end -}}
{{- toYaml $settings -}}
{{- end }}

{{/* Something where requests go to the bundled catalog, and nothing where `config` lists several upstreams itself. */}}
{{- define "catalog-gateway.isBeforeBundledCatalog" -}}
{{- if and .Values.catalog.enabled (not .Values.config.upstreams) }}true{{ end -}}
{{- end }}

{{/* Something where there may be several gateways. */}}
{{- define "catalog-gateway.hasReplicas" -}}
{{- if or (gt (int .Values.replicaCount) 1) .Values.autoscaling.enabled }}true{{ end -}}
{{- end }}
