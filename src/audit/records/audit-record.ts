import type { Principal } from '../../identity/principal.ts'
import type { Effect, OperationName } from '../../catalog-api/operations.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import type { RuleReference } from '../../policy/engine/decision.ts'

type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json | undefined }

/** Facts of one operation, such as version, branch or mode. The caller has bounded and redacted them. */
export type Details = { readonly [name: string]: Json | undefined }

/** A permission that was needed besides that of the operation, on its own object or another one. */
export interface AuditedObject {
  readonly operation: Permission
  readonly id: readonly string[]
  /** The version that it follows; see `IntentEntry`. */
  readonly before?: number | undefined
  /** What a batch says of this one. */
  readonly details?: Details | undefined
}

/** A table version that a change made, as the upstream described it. */
export interface CreatedVersion {
  readonly id: readonly string[]
  /** Missing for the main branch. */
  readonly branch?: string | undefined
  readonly version: number
  /**
   * The response to the change named no version: this is the newest one of the branch that the upstream described
   * right after that response. The change made it, or an earlier one if others committed at the same time. All members
   * describe this version. Readers that follow the versions of a table must take it as an upper bound.
   */
  readonly observed?: true | undefined
  /** Of the final manifest; the one that the client asked for stands in the intent. */
  readonly manifestPath?: string | undefined
  readonly manifestSize?: number | undefined
  readonly eTag?: string | undefined
  /** The names alone, at most 32. */
  readonly metadataKeys?: readonly string[] | undefined
}

/** What the headers of an uploaded Arrow stream say; the data is not looked at. */
export interface UploadFacts {
  /** The bytes that the gateway took from the client. */
  readonly bytes: number
  /** The record batches whose header came, and the rows that the headers count. */
  readonly batches: number
  readonly rows: number
  /** SHA-256, in hex, of the fields of the schema, as arrow-schema-text.ts writes them. */
  readonly schema?: string
  /** Why the rest of the stream was not read: it is no Arrow stream, or one that is out of bounds. */
  readonly unread?: string
}

/** Versions that are there and were not made through this log. */
export interface OutOfBandVersions {
  readonly id: readonly string[]
  readonly branch?: string
  /** The first and the last of them. */
  readonly from: number
  readonly to: number
}

/** What the log keeps of a principal; a whole `Principal` fits, and its groups are left out. */
export type AuditedPrincipal = Pick<Principal, 'name' | 'method' | 'credentialId' | 'issuer' | 'claims'>

/** A change, or a read where reads are recorded, is about to be sent upstream. */
export interface IntentEntry {
  /** The request id: `x-request-id`, and the `instance` of an error. */
  readonly request: string
  readonly operation: OperationName
  /** The id in the route; empty where the route names none. */
  readonly id: readonly string[]
  /** Every permission that was needed besides that of the operation, and on what; the entries of a batch in order. */
  readonly objects?: readonly AuditedObject[] | undefined
  readonly effect: Effect
  readonly principal: AuditedPrincipal
  /** The rule that allowed it. */
  readonly rule: RuleReference
  /** The revision of the policies that decided. */
  readonly policyRevision: string
  /** The address of the client. */
  readonly client: string
  /** Context entries of its headers, without their prefix: those that are asked for (redaction.ts). */
  readonly context?: Readonly<Record<string, string>> | undefined
  /** The configured name of the upstream. */
  readonly upstream: string
  /** The configured database of the upstream; missing if it has none. */
  readonly database?: string | undefined
  /**
   * The version that the table had before: of a version commit the one before the version that it asks for; of other
   * commits the newest that was recorded here. Missing where it is not known: the gateway asks nobody for it.
   */
  readonly before?: number | undefined
  /**
   * The format of the facts that were decided on. 1: `details`, and those of the entries of a batch, hold the facts of
   * the operation under the names of the interface, and `objects` is complete; a read has no details. Missing in
   * records of earlier versions: their details may hold names that the operation does not have, and lack facts.
   */
  readonly facts?: 1 | undefined
  readonly details?: Details | undefined
}

/**
 * What became of an intent. `committed`: the upstream answered success. `rejected`: the upstream refused, and so
 * nothing changed. `failed`: it was never sent, or failed in a way that changed nothing. `unknown`: it may have
 * happened or not (the answer was lost, or the gateway died).
 */
type OutcomeResult = 'committed' | 'rejected' | 'failed' | 'unknown'

/** How a change ended. */
export interface OutcomeEntry {
  readonly result: OutcomeResult
  /** The HTTP status of the upstream, where it answered. */
  readonly status?: number | undefined
  /** The table version that the change made; `versions` tells if it was observed. */
  readonly version?: number | undefined
  /** Every version that it made, as far as the response says or the upstream described it afterwards. */
  readonly versions?: readonly CreatedVersion[] | undefined
  readonly upload?: UploadFacts | undefined
  /** Versions that showed with this one, and nobody made through this log. */
  readonly outOfBand?: readonly OutOfBandVersions[] | undefined
  /** Milliseconds from the intent to the end of the upstream's answer. */
  readonly durationMs: number
  readonly details?: Details | undefined
}

/**
 * What an unknown outcome turned out to be. `committed`: it happened. `not_committed`: it did not, and cannot any
 * more. `taken`: another commit made the version that it asked for. `undecided`: nobody can tell any more.
 */
export type Resolution = 'committed' | 'not_committed' | 'taken' | 'undecided'

/** The upstream was asked what became of a change. */
export interface ResolvedEntry {
  readonly result: Resolution
  /** What shows it, or why nothing does; in words. */
  readonly evidence: string
  /** How often the upstream was asked. */
  readonly looks: number
  /** The version that was looked for, or its newest version, as the upstream described it. */
  readonly versions?: readonly CreatedVersion[]
  readonly outOfBand?: readonly OutOfBandVersions[]
}

/** An intent in a chain of this log. */
export interface IntentReference {
  readonly chain: string
  readonly seq: number
  readonly request: string
  readonly tables: readonly ObjectId[]
}

/** A request that the policies denied, of a read as of a change, or whose credential was not accepted. */
export interface RefusalEntry {
  readonly request: string
  /** The HTTP status that it was answered with. */
  readonly status: number
  /** Why, in one word from a closed list of the caller, such as `no_rule`, `denied` or `expired`. */
  readonly reason: string
  readonly operation?: OperationName
  readonly id?: readonly string[]
  /** Missing where nobody was authenticated. */
  readonly principal?: AuditedPrincipal
  /** The rule that forbids it; missing where no rule allows it. */
  readonly rule?: RuleReference
  readonly policyRevision?: string
  readonly client: string
  /** Context entries of its headers, without their prefix: those that are asked for (redaction.ts). */
  readonly context?: Readonly<Record<string, string>>
  readonly details?: Details
}

/** Policies or keys were read again, or could not be: `details.result` is `failure` then. */
export interface ReloadEntry {
  /** What was read: `policies`, `keys`. */
  readonly what: string
  /** The revision that holds from now on. */
  readonly revision: string
  readonly details?: Details
}

/** The id of an object: its parts. */
export type ObjectId = readonly string[]

/** The last record of a table so far. */
export interface TableHead {
  readonly id: ObjectId
  /** The `hash` of that record. */
  readonly hash: string
}

/** That a record speaks of a table. */
interface TableLink {
  readonly id: ObjectId
  /** The `hash` of the record before that speaks of the same table; 64 zeros where none is known. */
  readonly prev: string
}

/** Where a chain ends: its last record. */
export interface ChainEnd {
  readonly chain: string
  readonly seq: number
  readonly hash: string
}

/** An intent that has no outcome yet. */
export interface OpenIntent {
  readonly seq: number
  readonly request: string
  /** The tables that it speaks of. */
  readonly tables: readonly ObjectId[]
}

/** The members of each kind of record, besides those of `RecordHead`. */
export interface RecordBodies {
  /** The first record of a chain: a gateway started. */
  readonly start: {
    /** The name of the gateway instance. */
    readonly gateway: string
    /** The version of the software. */
    readonly software: string
    /** The end of the chain before, so that its removal or its shortening shows. */
    readonly previous?: ChainEnd
    /** The last record of every table; recovery need not read what is before this one. */
    readonly heads: readonly TableHead[]
  }
  /** The first record of each further segment of a chain; recovery need not read what is before it. */
  readonly segment: { readonly unresolved: readonly OpenIntent[]; readonly heads: readonly TableHead[] }
  /** All before it is signed. A segment that is followed by another ends in one. */
  readonly seal: {
    /** How many records were written since the seal before, in earlier chains too. */
    readonly leaves: number
    /** The root of the Merkle tree (RFC 6962) over the hashes of those records. */
    readonly root: string
    /** So many records follow at most before the next seal. */
    readonly within: number
    /** The id of the key. */
    readonly key: string
    /** See chain.ts; missing only until the seal has its place. */
    readonly signature?: string
  }
  /** The oldest records were removed by retention: the log begins after these. Nothing is removed before its seal. */
  readonly pruned: { readonly through: ChainEnd; readonly files: readonly string[] }
  /** The file of the segment was not what was written; the log goes on behind this record. */
  readonly tampered: {
    readonly file: string
    readonly what: FileTampering
    /** Whether the file was put back as it was. */
    readonly restored: boolean
    /** The name that a file which stood in its place was given. */
    readonly foreign?: string
  }
  readonly intent: IntentEntry
  readonly outcome: Omit<OutcomeEntry, 'durationMs'> & {
    readonly request: string
    readonly intentSeq: number
    /** The chain of the intent, where it is an earlier one. */
    readonly intentChain?: string
    readonly durationMs?: number
  }
  /** An unknown outcome was resolved. */
  readonly resolved: ResolvedEntry & {
    readonly request: string
    readonly intentSeq: number
    readonly intentChain: string
  }
  readonly refusal: RefusalEntry
  readonly reload: ReloadEntry
  /** What was found at the end of the chain before, when it was not a clean end; of each file. */
  readonly recovered: {
    readonly file: string
    /** The bytes of an unfinished last line that were cut off. */
    readonly bytesCut: number
    /** The bytes that the file had lost, or held others in place of, and that were put back from the journal. */
    readonly bytesRestored?: number
    /** What else is wrong with the file, which was left as it is. */
    readonly damage?: string
  }
  /** Records that could not be written before this one. */
  readonly gap: {
    /** Refusals and reloads that are lost. */
    readonly dropped: number
    /** Intents and outcomes that are missing; whoever asked for them was told. */
    readonly refused: number
    /** When the first and the last of them were handed over: ISO 8601. */
    readonly since: string
    readonly until: string
  }
}

/** What somebody else did to the file of the newest segment. */
export type FileTampering = 'removed' | 'replaced' | 'resized'

/** The kinds of records. */
export type RecordKind = keyof RecordBodies

/** What every record of format version 1 begins with; its last member is `hash` (see chain.ts). */
export interface RecordHead<Kind extends RecordKind = RecordKind> {
  /** The version of the format. */
  readonly v: 1
  readonly kind: Kind
  /** The id of the chain, the same as in the name of the file. */
  readonly chain: string
  /** The number of the record in its chain: 0 for the first, without gaps over all segments. */
  readonly seq: number
  /** ISO 8601 with milliseconds, UTC: when the record was handed to the log. */
  readonly time: string
  /** The `hash` of the record before; 64 zeros in the first record of a chain. */
  readonly prev: string
  /** The tables that the record speaks of, where there are any. */
  readonly tables?: readonly TableLink[]
}

/** A record as it stands in the file, without its hash. */
export type AuditRecord = { [Kind in RecordKind]: RecordHead<Kind> & RecordBodies[Kind] }[RecordKind]
