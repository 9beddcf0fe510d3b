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

/** A permission that the request requires besides that of its operation. */
export interface AuditedObject {
  readonly operation: Permission
  readonly id: readonly string[]
  readonly before?: number | undefined
  readonly details?: Details | undefined
}

/** A table version, as described by the upstream. */
export interface CreatedVersion {
  readonly id: readonly string[]
  /** Absent for the main branch. */
  readonly branch?: string | undefined
  readonly version: number
  /** Final manifest; the intent contains the staged one. */
  readonly manifestPath?: string | undefined
  readonly manifestSize?: number | undefined
  readonly eTag?: string | undefined
  /** Names only, at most 32. */
  readonly metadataKeys?: readonly string[] | undefined
}

/** Facts from the headers of an uploaded Arrow stream; the data is not inspected. */
export interface UploadFacts {
  readonly bytes: number
  /** Record batches whose header was received, and rows by these headers. */
  readonly batches: number
  readonly rows: number
  /** SHA-256 in hex of the schema fields (read-arrow-body.ts). */
  readonly schema?: string
  /** Extension types of columns whose values can refer to other objects. */
  readonly references?: readonly string[]
  /** Why the rest of the stream was neither parsed nor forwarded. */
  readonly unread?: string
}

/** The recorded part of a principal. */
export interface AuditedPrincipal extends Pick<
  Principal,
  'name' | 'method' | 'credentialId' | 'issuer' | 'claims'
> {
  /** In a record: sorted, at most `maxRecordedGroups`. */
  readonly groups?: ReadonlySet<string> | readonly string[]
  /** Number of further groups. */
  readonly groupsOmitted?: number
}

interface SentRequest {
  /** Request id: the header `x-request-id`, and the `instance` of an error. */
  readonly request: string
  readonly client: string
  /** The proxy in front of the gateway, if any. */
  readonly peer?: string | undefined
}

/** Entries of the request headers without their prefix, limited to the configured keys (redaction.ts). */
type RequestContext = Readonly<Record<string, string>>

/** Before a change, or a recorded read, is sent upstream. */
export interface IntentEntry extends SentRequest {
  readonly operation: AnyOperationName
  /** Object id in the route; may be empty. */
  readonly id: readonly string[]
  /** All further permissions that the request requires; entries of a batch in order. */
  readonly objects?: readonly AuditedObject[] | undefined
  readonly effect: Effect
  readonly principal: AuditedPrincipal
  readonly rule: RuleReference
  /** Restrictions that cut a read to a part of the table. */
  readonly restrictedBy?: readonly RuleReference[] | undefined
  readonly policyRevision: string
  readonly context?: RequestContext | undefined
  readonly upstream: string
  readonly database?: string | undefined
  /** The version before a version commit; otherwise the newest one in this log. */
  readonly before?: number | undefined
  /** 1: `details` have all facts that the policies decided on, and `objects` is complete; a read has no details. */
  readonly facts?: 1 | undefined
  readonly details?: Details | undefined
}

/**
 * `committed`: success. `rejected`: the upstream refused, so nothing changed. `failed`: never sent, or failed without a
 * change. `unknown`: the response was lost, or the gateway crashed.
 */
type OutcomeResult = 'committed' | 'rejected' | 'failed' | 'unknown'

export interface OutcomeEntry {
  readonly result: OutcomeResult
  readonly status?: number | undefined
  /** The table version that the change made. */
  readonly version?: number | undefined
  readonly versions?: readonly CreatedVersion[] | undefined
  readonly upload?: UploadFacts | undefined
  /** From the intent to the end of the upstream response. */
  readonly durationMs?: number | undefined
  readonly details?: Details | undefined
}

/** `not_committed`: it cannot happen any more. `taken`: another commit made the version. `undecided`: never known. */
export type Resolution = 'committed' | 'not_committed' | 'taken' | 'undecided'

export interface ResolvedEntry {
  readonly result: Resolution
  readonly evidence: string
  /** Queries to the upstream. */
  readonly lookups: number
  /** The requested version, or the newest one. */
  readonly versions?: readonly CreatedVersion[]
}

/** A durable intent; required to record its outcome. */
export interface IntentReference extends RecordReference {
  readonly request: string
  readonly tables: readonly ObjectId[]
}

/** A request that the policies denied, or whose credential was rejected. */
export interface RefusalEntry extends SentRequest {
  readonly status: number
  /** Such as `no_rule`, `denied` or `expired`. */
  readonly reason: string
  readonly operation?: AnyOperationName | undefined
  readonly id?: readonly string[] | undefined
  readonly principal?: AuditedPrincipal | undefined
  /** Absent if no rule allows the request. */
  readonly rule?: RuleReference | undefined
  readonly policyRevision?: string | undefined
  readonly details?: Details | undefined
}

/** Before a pass-through route forwards a possible change. Its outcome is not recorded. */
export interface PassThroughEntry extends SentRequest {
  readonly prefix: string
  readonly method: string
  /** At the upstream, without the query, at most 1,024 characters. */
  readonly path: string
  readonly upgrade?: 'websocket' | undefined
  readonly principal?: AuditedPrincipal | undefined
}

/** If the reload failed, `details.result` is `failure`. */
export interface ReloadEntry {
  /** `policies` or `keys`. */
  readonly what: string
  readonly revision: string
  readonly details?: Details
  /** At most 100 in a record. Redacted like principals. */
  readonly keys?: readonly KeyChange[]
}

export type ObjectId = readonly string[]

/** Identifies a record across all gateways. */
export interface RecordReference {
  readonly chain: string
  readonly seq: number
}

export interface ChainEnd extends RecordReference {
  readonly hash: string
}

interface EndOfIntent {
  readonly request: string
  readonly intentSeq: number
  /** Absent in an outcome of the same chain. */
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
  /** First record of each further segment of a chain. */
  readonly segment: {
    readonly unresolved: readonly Omit<IntentReference, 'chain'>[]
  }
  /** Signs all records before it. */
  readonly seal: {
    /** Records since the previous seal. */
    readonly leaves: number
    /** Maximum before the next seal. */
    readonly within: number
    readonly key: string
    /** See hash-chain.ts; absent until the seal has a position in the chain. */
    readonly signature?: string
  }
  /** Retention removes the oldest records up to `through`, after this record is sealed. */
  readonly pruned: { readonly through: ChainEnd; readonly files: readonly string[] }
  /** Another process changed a segment, for `extended` while no gateway ran. */
  readonly tampered: {
    readonly file: string
    readonly what: FileTampering
    /** The first line that no gateway with this seal key has written, and how many there are. */
    readonly line?: number
    readonly lines?: number
  }
  readonly intent: IntentEntry
  readonly outcome: OutcomeEntry & EndOfIntent
  readonly resolved: ResolvedEntry & EndOfIntent
  readonly refusal: RefusalEntry
  readonly passThrough: PassThroughEntry
  readonly reload: ReloadEntry
  /** Repair of a file after a crash. */
  readonly recovered: {
    readonly file: string
    /** Length of the unfinished last line. */
    readonly bytesCut: number
    readonly damage?: string
  }
  /** Records before this one could not be written. */
  readonly gap: {
    /** Lost refusals and reloads. */
    readonly dropped: number
    /** Lost intents and outcomes; their callers got an error. */
    readonly refused: number
    readonly since: string
    readonly until: string
  }
}

export type FileTampering = 'removed' | 'replaced' | 'resized' | 'extended'

export type RecordKind = keyof RecordBodies

/** Members of every record; those of its kind come before `mac`. */
interface RecordFrame<Kind extends RecordKind> {
  readonly v: 1
  readonly kind: Kind
  /** Each start of a gateway begins a chain. */
  readonly chain: string
  /** Number in the chain, from 0 and without gaps. */
  readonly seq: number
  /** ISO 8601 with milliseconds, UTC. */
  readonly time: string
  /** `hash` of the previous record; 64 zeros in the first one of a chain. */
  readonly prev: string
  readonly tables?: readonly { readonly id: ObjectId }[]
  /** By it the next start knows the record (hash-chain.ts). */
  readonly mac?: string
  readonly hash: string
}

/** A record as it is stored, of one kind, or of several. */
export type AuditRecord<Kinds extends RecordKind = RecordKind> = {
  [Kind in Kinds]: RecordFrame<Kind> & RecordBodies[Kind]
}[Kinds]
