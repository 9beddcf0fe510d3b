import type { Principal } from '../identity/principal.ts'
import type { Effect, OperationName } from '../interface/operations.ts'
import type { Permission } from '../interface/permissions.ts'
import type { RuleReference } from '../policy/decision.ts'

type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json | undefined }

/** Facts of one operation, such as version, branch or mode. The caller has bounded and redacted them. */
export type Details = { readonly [name: string]: Json | undefined }

/** A permission that was needed on an object: what a batch does to each of its tables. */
interface AuditedObject {
  readonly operation: Permission
  readonly id: readonly string[]
}

/** What the log keeps of a principal; a whole `Principal` fits, and its groups are left out. */
type AuditedPrincipal = Pick<Principal, 'name' | 'method' | 'credentialId' | 'issuer'>

/** A change is about to be sent upstream. */
export interface IntentEntry {
  /** The request id: `x-request-id`, and the `instance` of an error. */
  readonly request: string
  readonly operation: OperationName
  /** The id in the route; empty where the route names none. */
  readonly id: readonly string[]
  /** For an operation that touches more than `id`: every permission that was asked for, and on what. */
  readonly objects?: readonly AuditedObject[]
  readonly effect: Exclude<Effect, 'read'>
  readonly principal: AuditedPrincipal
  /** The rule that allowed it. */
  readonly rule: RuleReference
  /** The revision of the policies that decided. */
  readonly policyRevision: string
  /** The address of the client. */
  readonly client: string
  /** The configured name of the upstream. */
  readonly upstream: string
  readonly details?: Details
}

/**
 * What became of an intent. `committed`: the upstream answered success. `rejected`: the upstream refused, and so
 * nothing changed. `failed`: it was never sent, or failed in a way that changed nothing. `unknown`: it may have
 * happened or not (the answer was lost, or the gateway died).
 */
type Result = 'committed' | 'rejected' | 'failed' | 'unknown'

/** How a change ended. */
export interface OutcomeEntry {
  readonly result: Result
  /** The HTTP status of the upstream, where it answered. */
  readonly status?: number
  /** The table version that the change made. */
  readonly version?: number
  /** Milliseconds from the intent to the end of the upstream's answer. */
  readonly durationMs: number
  readonly details?: Details
}

/** A request that the policies denied, of a read as of a change. */
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
  readonly details?: Details
}

/** Policies or keys were read again. */
export interface ReloadEntry {
  /** What was read: `policies`, `keys`. */
  readonly what: string
  /** The revision that holds from now on. */
  readonly revision: string
  readonly details?: Details
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
}

/** The members of each kind of record, besides those of `RecordHead`. */
interface RecordBodies {
  /** The first record of a chain: a gateway started. */
  readonly start: {
    /** The name of the gateway instance. */
    readonly gateway: string
    /** The version of the software. */
    readonly software: string
    /** The end of the chain before, so that its removal or its shortening shows. */
    readonly previous?: ChainEnd
  }
  /** The first record of each further segment of a chain; recovery need not read what is before it. */
  readonly segment: { readonly unresolved: readonly OpenIntent[] }
  readonly intent: IntentEntry
  readonly outcome: Omit<OutcomeEntry, 'durationMs'> & {
    readonly request: string
    readonly intentSeq: number
    /** The chain of the intent, where it is an earlier one. */
    readonly intentChain?: string
    readonly durationMs?: number
  }
  readonly refusal: RefusalEntry
  readonly reload: ReloadEntry
  /** What was found at the end of the chain before, when it was not a clean end. */
  readonly recovered: {
    readonly file: string
    /** The bytes of an unfinished last line that were cut off. */
    readonly bytesCut: number
    /** What else is wrong with the file, which was left as it is. */
    readonly damage?: string
  }
  /** Records that could not be written before this one. */
  readonly gap: {
    /** Refusals and reloads that are lost. */
    readonly dropped: number
    /** Intents and outcomes that are missing; whoever asked for them was told. */
    readonly refused: number
  }
}

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
}

/** A record as it stands in the file, without its hash. */
export type AuditRecord = { [Kind in RecordKind]: RecordHead<Kind> & RecordBodies[Kind] }[RecordKind]

/** A record that has no place in a chain yet. */
export interface LooseRecord {
  readonly kind: RecordKind
  readonly time: string
  /** Its own members as the text of a JSON object. */
  readonly text: string
}

/** A record of now. Throws `TypeError` for a body that is no JSON. */
export function looseRecord<Kind extends RecordKind>(kind: Kind, body: RecordBodies[Kind]): LooseRecord {
  return { kind, time: new Date().toISOString(), text: JSON.stringify(body) }
}

/** An intent of now. The log keeps what is written here, and nothing else that the entry may hold. */
export function intentRecord(entry: IntentEntry): LooseRecord {
  return looseRecord('intent', {
    ...only(entry, ['request', 'operation', 'id', 'objects', 'effect']),
    principal: only(entry.principal, principalMembers),
    rule: only(entry.rule, ruleMembers),
    ...only(entry, ['policyRevision', 'client', 'upstream', 'details']),
  })
}

/** The outcome, of now, of the intent with that seq in the same chain. */
export function outcomeRecord(intentSeq: number, request: string, entry: OutcomeEntry): LooseRecord {
  return looseRecord('outcome', {
    request,
    intentSeq,
    ...only(entry, ['result', 'status', 'version', 'durationMs', 'details']),
  })
}

/** A refusal of now. */
export function refusalRecord(entry: RefusalEntry): LooseRecord {
  return looseRecord('refusal', {
    ...only(entry, ['request', 'status', 'reason', 'operation', 'id']),
    ...(entry.principal && { principal: only(entry.principal, principalMembers) }),
    ...(entry.rule && { rule: only(entry.rule, ruleMembers) }),
    ...only(entry, ['policyRevision', 'client', 'details']),
  })
}

const principalMembers = ['name', 'method', 'credentialId', 'issuer'] as const
const ruleMembers = ['policy', 'rule', 'file', 'line'] as const

/** Those members of an object, in that order. */
function only<Entry, Member extends keyof Entry>(
  entry: Entry,
  members: readonly Member[],
): Pick<Entry, Member> {
  const kept: Partial<Pick<Entry, Member>> = {}
  for (const member of members) if (entry[member] !== undefined) kept[member] = entry[member]
  // Complete: what is left out was undefined in the entry too.
  return kept as Pick<Entry, Member>
}
