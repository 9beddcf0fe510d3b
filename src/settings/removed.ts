/*
 * Settings and options of earlier builds, each with a sentence that names the replacement. Files, environment variables and
 * command lines that still have one are refused with this sentence, until 0.2.
 */

/** By path, with `[]` behind a list: `audit.sinks[].topic`. One of `upstreams` is listed as one of `upstream`. */
export const removedSettings: Readonly<Record<string, string>> = {
  'listen.http2': 'the port speaks HTTP/1.1; remove the setting, or let a proxy in front speak HTTP/2',
  'listen.h2c': 'the port speaks HTTP/1.1; let the mesh or load balancer in front send that',
  'listen.clientAddressFrom': 'let the proxies of listen.trustedProxies state the client by X-Forwarded-For',
  'listen.parser': 'the gateway has one parser of HTTP/1.1, its own; remove the setting',
  workers: 'a gateway is one process: run one for each core, as examples/systemd does, or replicas',
  catalog: 'the bundled catalog adapts no other one: set upstream.url of the gateway to that catalog',
  secrets: 'the bundled catalog stores no functions and no secrets (406)',
  'policies.kubernetes.apiServer': 'the gateway uses the API server of the cluster that its pod runs in',
  'policies.kubernetes.caFile': 'the gateway uses the service account of its pod',
  'policies.kubernetes.tokenFile': 'the gateway uses the service account of its pod',
  'policies.kubernetes.lease': 'remove it and the Role for the Lease: every gateway writes the status',
  'policies.kubernetes.webhook': 'the resources of the chart and the status of a policy tell mistakes',
  'policies.kubernetes.namespaces[].maxPolicies': 'it is 100; a ResourceQuota can lower it',
  'policies.kubernetes.namespaces[].maxPolicyBytes': 'a policy may have 65,536 bytes',
  'policies.kubernetes.namespaces[].maxConditions': 'it is 100 in a Kubernetes namespace',
  'admin.requireUpstream': '/readyz lists unhealthy upstreams as a warning',
  'data.s3.vending': 'clients that open tables directly bring their own credentials; remove the setting',
  'identity.apiKeys.lastUsedFile': 'it is last-used-keys.json in audit.folder',
  'identity.assertion.additionalKeyFiles': 'append these keys to identity.assertion.keyFile',
  'identity.assertion.header': 'it is x-catalog-assertion',
  'identity.assertion.lifetimeSeconds': 'it is 60 s',
  'identity.clientCertificates.sanType': 'the caller is the URI of its certificate',
  'identity.introspection.cacheSeconds': 'it is 60 s',
  'identity.introspection.clockSkewSeconds': 'it is 30 s',
  'identity.introspection.timeoutSeconds': 'it is 5 s',
  'identity.issuers[].clockSkewSeconds': 'it is 30 s',
  'identity.jwksCacheFolder': 'use jwks.file for a start without the issuer',
  'identity.issuers[].tokenUrl': 'tell clients where to get tokens',
  'identity.kubernetes.apiServer': 'it is the API server of the cluster of the pod',
  'identity.kubernetes.caFile': 'it is that of the service account of the pod',
  'identity.kubernetes.maxLifetimeSeconds': 'it is one day',
  'identity.kubernetes.tokenFile': 'it is that of the service account of the pod',
  'identity.multipleCredentials': 'send one credential, or bind them with `keys create --subject`',
  'limits.byteQuotas': 'use limits.rates and limits.concurrency; the network limits bytes',
  'limits.failedAuthentications.burst': 'it is 20',
  'limits.maxBatchEntries': 'it is 1,000',
  'limits.maxHeaderBytes': 'it is 32 KiB',
  'limits.maxJsonMemoryBytes': 'it is a quarter of the heap; use --max-old-space-size',
  'limits.maxJsonValues': 'it is 50,000',
  'limits.maxStreamedJsonBytes': 'use limits.maxJsonBytes, for all JSON bodies',
  'limits.shared.keyPrefix': 'use a database of its own in limits.shared.url',
  'limits.shared.onFailure': 'each gateway counts alone while the server is unreachable',
  'limits.shared.timeoutMs': 'it is 500 ms',
  metrics: 'metrics have no label of the namespace; count by id in the log or the audit records',
  'log.format': 'lines are JSON, and text on a terminal',
  'log.sample': 'every request has a line; sample in the collector, or use log.level: warn',
  'timeouts.bodyTimeoutMs': 'it is 30 s',
  'timeouts.drainDelayMs': 'it is 5 s if /readyz has been asked; for more, use a preStop hook',
  'timeouts.headersTimeoutMs': 'it is 30 s',
  'timeouts.maxConnectionAgeMs': 'it is one hour',
  'timeouts.sendTimeoutMs': 'it is 60 s',
  'traces.continueTraces': 'traces of clients are continued',
  'traces.credential.header': 'it is authorization',
  'traces.include': 'spans have the principal',
  'traces.timeoutMs': 'it is 5 s',
  'upstream.allowedExtensionTypes': 'upload columns of the storage type',
  'upstream.allowedSchemaMetadata': 'omit the metadata',
  'upstream.healthCheck': 'it lists one name of the root namespace every 5 s',
  'upstream.maxBulkConnections': 'it is 1,024',
  'upstream.quotesInNames': 'rename what has quotes in its name',
  'upstream.reservedInNames': 'names contain neither the delimiter nor $',
  'upstream.retries': 'a read is retried once',
  'upstream.serverName': 'the certificate must name the host of the URL',
  'upstream.timeouts.connectTimeoutMs': 'it is 5 s',
  'upstream.timeouts.responseBodyTimeoutMs': 'it is 60 s',
  'upstream.timeouts.responseHeadersTimeoutMs': 'it is 300 s',
  'audit.continuity': 'audit compare lists versions that were made past the gateway',
  'audit.logSeals': 'the metric catalog_gateway_audit_head_hash exports the head of the log',
  'audit.modes': 'audit.mode is that of all changes, and audit.reads records reads',
  'audit.redaction.filters': 'SQL filters are recorded as keyed hashes',
  'audit.reserveBytes': 'watch the metric catalog_gateway_audit_volume_available_bytes',
  'audit.resolution': 'changes whose response was lost are in doubt for 72 hours',
  'audit.sinks[].credential.header': 'it is authorization; a collector sets other headers',
  'audit.sinks[].format': 'records are JSON; a collector changes their format, see examples/collector',
  'audit.sinks[].headers': 'a collector sets headers; see examples/collector',
  'audit.sinks[].maxLagHours': 'retention waits at most 7 days for a sink',
  'audit.sinks[].retry': 'deliveries are repeated after 0.5 to 60 seconds',
  'audit.sinks[].timeoutMs': 'a delivery has 10 seconds',
  'passThrough[]':
    'routes have a port of their own: passThrough: { port, routes }, each with prefix, upstream, allow and methods',
  'passThrough.routes[].webSocket': 'add WEBSOCKET to methods',
  'passThrough.routes[].caFile': 'add the authority to outbound.caFile',
  'upstream.allowedQueryParameters': 'declare an operation with its query in upstream.extraOperations',
  'upstream.compareVersionsSeconds': 'audit compare lists versions that were made past the gateway',
  'policies.bundle': 'use policies.folder; verify what is downloaded with a tool such as cosign',
  'policies.candidateFolder': 'give the candidate policies `mode: shadow`',
  'policies.emergencyFolder': 'list the folder in policies.folder: each comes into force by itself',
  'policies.lastGood':
    'a start needs valid policies: run `check` before it, and let the old replica serve until the new one is ready',
}

/** By path and value: `audit.sinks[].type: kafka`. */
export const removedValues: Readonly<Record<string, string>> = {
  'audit.sinks[].type: http': 'a collector reads the log or receives otlp; see examples/collector',
  'audit.sinks[].type: kafka': 'a collector reads the log or receives otlp; see examples/collector',
  'unsafe[]: audit-off': 'every change is recorded; audit.mode: besteffort is the fastest mode',
  'unsafe[]: quotes-in-names': 'rename what has quotes in its name',
}

/** By path of the document, without list indexes. */
export const removedPolicyFields: Readonly<Record<string, string>> = {
  accept: 'put a comment on the rule or above it: # lint: ok CHECK reason',
  'commits.require':
    'expected commits: { folders: [...], metadata: [...], except: {...} }; branches and freezes are denies of ' +
    'operations: [change] with "when"',
  protect: 'write a deny with subjects: { everyone: true, except: {...} }, operations: [all] and "tables"',
  reads: 'expected restrict: [...], without "reads"',
  'restrict.append': 'a restriction leaves only reading; let a service append for these callers',
  'rules.approvedBy': 'the review is the approval; name it in a comment or in metadata.description',
  'rules.moves': 'a deny with "tables" always denies what moves them; except callers that may, by "except"',
}

/** As typed, without the name of the program. */
export const removedCommands: Readonly<Record<string, string>> = {
  'audit export': 'audit query --json prints the records',
  'audit prove': 'an auditor verifies a copy of the log with audit verify --public-key',
  'audit verify-proof': 'an auditor verifies a copy of the log with audit verify --public-key',
  completion: 'each command lists its options with --help',
  'policy bundle': 'use policies.folder; sign what is downloaded with a tool such as cosign or minisign',
  'policy verify-bundle': 'use policies.folder; verify what is downloaded with a tool such as cosign',
  version: '--version prints the version',
  demo: 'docs/getting-started.md has the same steps as commands to paste',
}

/** By command and option: `check --probe`; `* --option` for all commands. */
export const removedOptions: Readonly<Record<string, string>> = {
  '* --apply': 'write what kubectl would apply into the folder of the candidates',
  '* --by': 'changes of keys are recorded with the user of the operating system',
  '* --context': 'save the resources with kubectl; see --kubernetes',
  '* --current': 'record groups by audit.redaction.maxRecordedGroups',
  'audit query --policies': '`policy explain` says what the policies decide now',
  'audit verify --expect-head':
    'search the files of a log that verifies for the hash: grep -r \'"hash":"HASH\' DIR',
  '* --groups': 'use --config: lint then names groups that no API key has',
  '* --issuer': 'state the issuer of a caller in a test of a policy: as: { issuer: NAME }',
  '* --junit': 'use --json, and convert the report in the pipeline if it needs JUnit',
  '* --kubectl': 'save the resources with kubectl; see --kubernetes',
  '* --kubernetes':
    'save the resources in a folder and use --policies: kubectl get accesspolicies.catalog-gateway.dev -A -o yaml > DIR/now.yaml',
  '* --last-used': 'read last-used-keys.json in the audit folder of the gateway: the time by key id',
  '* --min-coverage': 'use --json: untested lists the rules that decide no test',
  'policy test --tests': 'put the tests into "tests" of a policy, such as one of the namespace []',
  'dev --max-upload': 'run `serve` and `backend`; limits.maxUploadBytes is a setting of the catalog',
  'policy diff --policies': 'put all policies of each side into its folder',
  'policy replay --keys': 'record groups by audit.redaction.maxRecordedGroups',
  'policy what-can --claim': 'claims have no effect on what-can; policy explain takes them',
}

/** Returns `; SENTENCE` for a setting that was removed, else an empty string. */
export function explainRemovedSetting(path: readonly (string | number)[]): string {
  return explain(removedSettings, formatPath(path))
}

/** Returns `; SENTENCE` for a value that a setting had, else an empty string. */
export function explainRemovedValue(path: readonly (string | number)[], value: unknown): string {
  return explain(removedValues, `${formatPath(path)}: ${String(value)}`)
}

function formatPath(path: readonly (string | number)[]): string {
  const key = path.map((name) => (typeof name === 'number' ? '[]' : `.${name}`)).join('')
  return key.slice(1).replace(/^upstreams\[\]/, 'upstream')
}

/** Returns `; SENTENCE` for a field of policies that was removed, else an empty string. */
export function explainRemovedField(path: string): string {
  return explain(removedPolicyFields, path)
}

/** Returns the sentence for a command or an option that was removed, if the words begin with one. */
export function explainRemovedArgument(words: readonly string[]): string | undefined {
  const options = words.filter((word) => word.startsWith('--')).map((word) => word.replace(/=.*/, ''))
  const names = words.slice(0, words.findIndex((word) => word.startsWith('-')) >>> 0)
  for (let length = Math.min(names.length, 2); length >= 0; length--) {
    const command = names.slice(0, length).join(' ')
    if (Object.hasOwn(removedCommands, command)) return removedCommands[command]
    for (const option of options) {
      const key = `${command === '' ? '*' : command} ${option}`
      if (Object.hasOwn(removedOptions, key)) return removedOptions[key]
    }
  }
  return undefined
}

function explain(table: Readonly<Record<string, string>>, key: string): string {
  return Object.hasOwn(table, key) ? `; ${table[key]}` : ''
}
