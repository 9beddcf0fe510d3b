import type { KeyChange, Principal } from '../../identity/index.ts'
import type { AnyOperationName, Effect, Permission } from '../../catalog-api/index.ts'
import type { RuleReference } from '../../policy/index.ts'
import { isObject } from '../../lib/index.ts'

type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json | undefined }

export function isJson(value: unknown): value is Json {
  if (value === null || ['string', 'number', 'boolean'].includes(typeof value)) return true
  if (Array.isArray(value)) return value.every(isJson)
  return isObject(value) && Object.values(value).every((member) => member === undefined || isJson(member))
}

/** Facts of one operation, such as version, branch or mode; bounded and redacted by the caller. */
export type Details = { readonly [name: string]: Json | undefined }

/** A permission that the request requires in addition to that of its operation, on the same object or another one. */
export interface AuditedObject {
  readonly operation: Permission
  readonly id: readonly string[]
  readonly before?: number | undefined
  readonly details?: Details | undefined
}

/** A table version created by a change, as described by the upstream. */
export interface CreatedVersion {
  readonly id: readonly string[]
  /** Absent for the main branch. */
  readonly branch?: string | undefined
  readonly version: number
  /** Path of the final manifest; the intent contains the staged one from the request. */
  readonly manifestPath?: string | undefined
  readonly manifestSize?: number | undefined
  readonly eTag?: string | undefined
  /** Names only, at most 32. */
  readonly metadataKeys?: readonly string[] | undefined
}

/** Facts from the headers of an uploaded Arrow stream; the data is not inspected. */
export interface UploadFacts {
  readonly bytes: number
  /** Number of record batches whose header was received, and the number of rows in those headers. */
  readonly batches: number
  readonly rows: number
  /** SHA-256 in hex of the schema fields, as formatted by read-arrow-body.ts. */
  readonly schema?: string
  /** Extension types of its columns whose values can refer to other objects. */
  readonly references?: readonly string[]
  /** Why the rest of the stream was not parsed, and not forwarded: it is not an Arrow stream, or exceeds the limits. */
  readonly unread?: string
}

/** The recorded part of a principal. A whole `Principal` may be passed. */
export interface AuditedPrincipal extends Pick<
  Principal,
  'name' | 'method' | 'credentialId' | 'issuer' | 'claims'
> {
  /** In a record: an array, sorted and limited to the configured number; absent if groups are not recorded. */
  readonly groups?: ReadonlySet<string> | readonly string[]
  /** Number of further groups of the caller; absent if `groups` has all of them. */
  readonly groupsOmitted?: number
}

interface SentRequest {
  /** Request id: the header `x-request-id`, and the `instance` of an error. */
  readonly request: string
  readonly client: string
  /** The proxy in front of the gateway; absent if the client was the peer of the connection. */
  readonly peer?: string | undefined
}

/** Entries of the request headers without their prefix, limited to the configured keys (redaction.ts). */
type RequestContext = Readonly<Record<string, string>>

/** Written before a change, or a recorded read, is sent upstream. */
export interface IntentEntry extends SentRequest {
  readonly operation: AnyOperationName
  /** The object id in the route; empty if the route has none. */
  readonly id: readonly string[]
  /** All permissions required in addition to that of the operation, with their objects; entries of a batch in order. */
  readonly objects?: readonly AuditedObject[] | undefined
  readonly effect: Effect
  readonly principal: AuditedPrincipal
  readonly rule: RuleReference
  /** The restrictions of the caller on the table, by which a read was cut to a part of it; absent if there are none. */
  readonly restrictedBy?: readonly RuleReference[] | undefined
  readonly policyRevision: string
  readonly context?: RequestContext | undefined
  readonly upstream: string
  readonly database?: string | undefined
  /** The version before a version commit; otherwise the newest one recorded here. Absent if unknown. */
  readonly before?: number | undefined
  /**
   * Format of the recorded facts. 1: `details`, also of batch entries, hold the facts under the names of the catalog
   * API, and `objects` is complete; a read has no details. Absent in records of earlier versions, which may use other
   * names and omit facts.
   */
  readonly facts?: 1 | undefined
  readonly details?: Details | undefined
}

/**
 * `committed`: the upstream responded with success. `rejected`: the upstream refused, so nothing changed. `failed`:
 * never sent, or failed without a change. `unknown`: the response was lost, or the gateway crashed.
 */
type OutcomeResult = 'committed' | 'rejected' | 'failed' | 'unknown'

export interface OutcomeEntry {
  readonly result: OutcomeResult
  readonly status?: number | undefined
  /** The table version created by the change. */
  readonly version?: number | undefined
  /** All created versions that the response states. */
  readonly versions?: readonly CreatedVersion[] | undefined
  readonly upload?: UploadFacts | undefined
  /** Milliseconds from the intent to the end of the upstream response; unknown after a crash. */
  readonly durationMs?: number | undefined
  readonly details?: Details | undefined
}

/** `not_committed`: it cannot happen any more. `taken`: another commit made the version. `undecided`: never known. */
export type Resolution = 'committed' | 'not_committed' | 'taken' | 'undecided'

export interface ResolvedEntry {
  readonly result: Resolution
  /** Human-readable evidence, or why there is none. */
  readonly evidence: string
  /** Number of queries to the upstream. */
  readonly lookups: number
  /** The requested version, or the newest one of the table, as described by the upstream. */
  readonly versions?: readonly CreatedVersion[]
}

/** A durable intent; required to record its outcome. */
export interface IntentReference extends RecordReference {
  readonly request: string
  readonly tables: readonly ObjectId[]
}

/** A request that was denied by the policies (read or change), or whose credential was rejected. */
export interface RefusalEntry extends SentRequest {
  readonly status: number
  /** Reason code from a closed list of the caller, such as `no_rule`, `denied` or `expired`. */
  readonly reason: string
  readonly operation?: AnyOperationName | undefined
  readonly id?: readonly string[] | undefined
  /** Absent if the request was not authenticated. */
  readonly principal?: AuditedPrincipal | undefined
  /** The rule that denied the request; absent if no rule allows it. */
  readonly rule?: RuleReference | undefined
  readonly policyRevision?: string | undefined
  readonly context?: RequestContext | undefined
  readonly details?: Details | undefined
}

/** Written before a pass-through route forwards a request that may change something. Nothing is known of its outcome. */
export interface PassThroughEntry extends SentRequest {
  /** Prefix of the route. */
  readonly prefix: string
  readonly method: string
  /** Path at the upstream without the query, at most 1,024 characters. */
  readonly path: string
  /** Whether the connection becomes one of WebSocket. */
  readonly upgrade?: 'websocket' | undefined
  /** Absent for a route that anyone may use. */
  readonly principal?: AuditedPrincipal | undefined
}

/** A reload of policies or keys. If it failed, `details.result` is `failure`. */
export interface ReloadEntry {
  /** What was reloaded: `policies` or `keys`. */
  readonly what: string
  readonly revision: string
  readonly details?: Details
  /** Differences to the keys before, at most 100 in a record; only of a key store. Redacted like principals. */
  readonly keys?: readonly KeyChange[]
}

export type ObjectId = readonly string[]

/** Identifies a record across all gateways: chain ids are globally unique. */
export interface RecordReference {
  readonly chain: string
  readonly seq: number
}

/** The last record of a chain. */
export interface ChainEnd extends RecordReference {
  readonly hash: string
}

interface EndOfIntent {
  readonly request: string
  readonly intentSeq: number
  /** Chain of the intent; absent in an outcome of the same one. */
  readonly intentChain?: string
}

export interface RecordBodies {
  /** First record of a chain: a gateway started. */
  readonly start: {
    readonly gateway: string
    readonly software: string
    /** End of the previous chain; reveals its removal or truncation. */
    readonly previous?: ChainEnd
  }
  /** First record of each further segment of a chain; recovery need not read earlier records. */
  readonly segment: {
    readonly unresolved: readonly Omit<IntentReference, 'chain'>[]
  }
  /** Signs all records before it. Each segment that is followed by another one ends with a seal. */
  readonly seal: {
    /** Number of records since the previous seal, including those in earlier chains. */
    readonly leaves: number
    /** Maximum number of records before the next seal. */
    readonly within: number
    readonly key: string
    /** See hash-chain.ts; absent only until the seal has a position in the chain. */
    readonly signature?: string
  }
  /** Retention removed the oldest records up to `through`; the removal starts only after this record is sealed. */
  readonly pruned: { readonly through: ChainEnd; readonly files: readonly string[] }
  /** Another process changed a segment: while this gateway wrote it, or before its start (`extended`). */
  readonly tampered: {
    readonly file: string
    readonly what: FileTampering
    readonly restored: boolean
    /** New name of the file that had replaced the segment. */
    readonly foreign?: string
    /** The lines that no gateway with this seal key has written: the number of the first one, and how many there are. */
    readonly line?: number
    readonly lines?: number
  }
  readonly intent: IntentEntry
  readonly outcome: OutcomeEntry & EndOfIntent
  readonly resolved: ResolvedEntry & EndOfIntent
  readonly refusal: RefusalEntry
  readonly passThrough: PassThroughEntry
  readonly reload: ReloadEntry
  /** Repair of a file at the end of the previous chain after an unclean shutdown. */
  readonly recovered: {
    readonly file: string
    /** Length of the truncated unfinished last line, in bytes. */
    readonly bytesCut: number
    readonly damage?: string
  }
  /** Counts records before this one that could not be written. */
  readonly gap: {
    /** Lost refusals and reloads. */
    readonly dropped: number
    /** Rejected intents and outcomes; their callers were notified. */
    readonly refused: number
    /** Times of the first and the last of these calls: ISO 8601. */
    readonly since: string
    readonly until: string
  }
}

export type FileTampering = 'removed' | 'replaced' | 'resized' | 'extended'

export type RecordKind = keyof RecordBodies

/** The members of each record of format version 1 besides its own; all but the last two come first. */
interface RecordFrame<Kind extends RecordKind> {
  readonly v: 1
  readonly kind: Kind
  /** Chain id, as in the file name. */
  readonly chain: string
  /** Number of the record in its chain, from 0 and without gaps across segments. */
  readonly seq: number
  /** Time of the call that recorded it: ISO 8601 with milliseconds, UTC. */
  readonly time: string
  /** `hash` of the previous record; 64 zeros in the first record of a chain. */
  readonly prev: string
  readonly tables?: readonly { readonly id: ObjectId }[]
  /** See hash-chain.ts; absent in seals, which have a signature. */
  readonly mac?: string
  readonly hash: string
}

/** A record as it is stored, of one kind, or of several. */
export type AuditRecord<Kinds extends RecordKind = RecordKind> = {
  [Kind in Kinds]: RecordFrame<Kind> & RecordBodies[Kind]
}[Kinds]
