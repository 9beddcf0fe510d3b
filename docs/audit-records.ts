// Written by `npm run reference` from the types in the code.

export type RecordKind = keyof RecordBodies
export type AnyOperationName = string
export type Permission = string
export type Effect = 'read' | 'change' | 'commit'
// Without the prefix of the headers.
export type RequestContext = Record<string, string>
export type Details = Record<string, unknown>

export interface RecordFrame<Kind extends RecordKind> {
  v: 1
  kind: Kind
  // Each start of a gateway begins a chain.
  chain: string
  // Number in the chain, from 0 and without gaps.
  seq: number
  // ISO 8601 with milliseconds, UTC.
  time: string
  // `hash` of the previous record; 64 zeros in the first one of a chain.
  prev: string
  tables?: { id: string[] }[]
  // By it the next start knows the record (hash-chain.ts).
  mac?: string
  hash: string
}

export interface RecordReference {
  chain: string
  seq: number
}

export interface ChainEnd extends RecordReference {
  hash: string
}

export interface RecordBodies {
  // First record of a chain: a gateway started.
  start: {
    gateway: string
    software: string
    // End of the previous chain; reveals its removal or truncation.
    previous?: ChainEnd
  }
  // First record of each further segment of a chain.
  segment: {
    unresolved: Omit<IntentReference, 'chain'>[]
  }
  // Signs all records before it.
  seal: {
    // Records since the previous seal.
    leaves: number
    // Maximum before the next seal.
    within: number
    key: string
    // See hash-chain.ts; absent until the seal has a position in the chain.
    signature?: string
  }
  // Retention removes the oldest records up to `through`, after this record is sealed.
  pruned: { through: ChainEnd; files: string[] }
  // Another process changed a segment, for `extended` while no gateway ran.
  tampered: {
    file: string
    what: FileTampering
    // The first line that no gateway with this seal key has written, and how many there are.
    line?: number
    lines?: number
  }
  intent: IntentEntry
  outcome: OutcomeEntry & EndOfIntent
  resolved: ResolvedEntry & EndOfIntent
  refusal: RefusalEntry
  passThrough: PassThroughEntry
  reload: ReloadEntry
  // Repair of a file after a crash.
  recovered: {
    file: string
    // Length of the unfinished last line.
    bytesCut: number
    damage?: string
  }
  // Records before this one could not be written.
  gap: {
    // Lost refusals and reloads.
    dropped: number
    // Lost intents and outcomes; their callers got an error.
    refused: number
    since: string
    until: string
  }
}

export type FileTampering = 'removed' | 'replaced' | 'resized' | 'extended'

export interface SentRequest {
  // Request id: the header `x-request-id`, and the `instance` of an error.
  request: string
  client: string
  // The proxy in front of the gateway, if any.
  peer?: string
}

export interface IntentEntry extends SentRequest {
  operation: AnyOperationName
  // Object id in the route; may be empty.
  id: string[]
  // All further permissions that the request requires; entries of a batch in order.
  objects?: AuditedObject[]
  effect: Effect
  principal: AuditedPrincipal
  rule: RuleReference
  // Restrictions that cut a read to a part of the table.
  restrictedBy?: RuleReference[]
  policyRevision: string
  context?: RequestContext
  upstream: string
  database?: string
  // The version before a version commit; otherwise the newest one in this log.
  before?: number
  // 1: `details` have all facts that the policies decided on, and `objects` is complete; a read has no details.
  facts?: 1
  details?: Details
}

export interface EndOfIntent {
  request: string
  intentSeq: number
  // Absent in an outcome of the same chain.
  intentChain?: string
}

// `committed`: success. `rejected`: the upstream refused, so nothing changed. `failed`: never sent, or failed without a
// change. `unknown`: the response was lost, or the gateway crashed.
export type OutcomeResult = 'committed' | 'rejected' | 'failed' | 'unknown'

export interface OutcomeEntry {
  result: OutcomeResult
  status?: number
  // The table version that the change made.
  version?: number
  versions?: CreatedVersion[]
  upload?: UploadFacts
  // From the intent to the end of the upstream response.
  durationMs?: number
  details?: Details
}

// `not_committed`: it cannot happen any more. `taken`: another commit made the version. `undecided`: never known.
export type Resolution = 'committed' | 'not_committed' | 'taken' | 'undecided'

export interface ResolvedEntry {
  result: Resolution
  evidence: string
  // Queries to the upstream.
  lookups: number
  // The requested version, or the newest one.
  versions?: CreatedVersion[]
}

export interface RefusalEntry extends SentRequest {
  status: number
  // Such as `no_rule`, `denied` or `expired`.
  reason: string
  operation?: AnyOperationName
  id?: string[]
  principal?: AuditedPrincipal
  // Absent if no rule allows the request.
  rule?: RuleReference
  policyRevision?: string
  details?: Details
}

export interface PassThroughEntry extends SentRequest {
  prefix: string
  method: string
  // At the upstream, without the query, at most 1,024 characters.
  path: string
  upgrade?: 'websocket'
  principal?: AuditedPrincipal
}

export interface ReloadEntry {
  // `policies` or `keys`.
  what: string
  revision: string
  details?: Details
  // At most 100 in a record. Redacted like principals.
  keys?: KeyChange[]
}

export interface AuditedObject {
  operation: Permission
  id: string[]
  before?: number
  details?: Details
}

export interface CreatedVersion {
  id: string[]
  // Absent for the main branch.
  branch?: string
  version: number
  // Final manifest; the intent contains the staged one.
  manifestPath?: string
  manifestSize?: number
  eTag?: string
  // Names only, at most 32.
  metadataKeys?: string[]
}

export interface UploadFacts {
  bytes: number
  // Record batches whose header was received, and rows by these headers.
  batches: number
  rows: number
  // SHA-256 in hex of the schema fields (read-arrow-body.ts).
  schema?: string
  // Extension types of columns whose values can refer to other objects.
  references?: string[]
  // Why the rest of the stream was neither parsed nor forwarded.
  unread?: string
}

export interface AuditedPrincipal extends Pick<
  Principal,
  'name' | 'method' | 'credentialId' | 'issuer' | 'claims'
> {
  // In a record: sorted, at most `maxRecordedGroups`.
  groups?: string[]
  // Number of further groups.
  groupsOmitted?: number
}

export interface IntentReference extends RecordReference {
  request: string
  tables: string[][]
}

export interface Principal {
  // Name in policies and audit records.
  name: string
  // `anonymous` if no credential was sent, regardless of the name.
  method: 'api-key' | 'token' | 'certificate' | 'application' | 'anonymous'
  // API key id; token `jti` or 16 hex digits of its SHA-256; SHA-256 of the certificate; or empty.
  credentialId: string
  // Configured name of the issuer, or of the source of the certificate.
  issuer?: string
  // Further claims of a verified token.
  claims?: Readonly<Record<string, unknown>>
}

export interface RuleReference {
  policy: string
  rule: string
  // Relative to the policy folder. The line is that on which the rule starts.
  file: string
  line: number
  // ISO 8601, UTC: an allow rule applies before this time.
  until?: string
}

export interface KeyChange {
  // `rotated`: created as the successor of `replaces`. `removed`: not by `keys`. `changed`: in `members`.
  change: 'created' | 'rotated' | 'revoked' | 'removed' | 'changed'
  // Id of the key.
  key: string
  principal: string
  // Who created or revoked the key, as the store states.
  by?: string
  replaces?: string
  members?: string[]
}
