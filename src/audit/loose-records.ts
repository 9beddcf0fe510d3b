import { operations, type OperationName } from '../interface/operations.ts'
import type { Permission } from '../interface/permissions.ts'
import type {
  IntentEntry,
  IntentPlace,
  ObjectId,
  OpenIntent,
  OutcomeEntry,
  RecordBodies,
  RecordKind,
  RefusalEntry,
  ResolvedEntry,
} from './records.ts'

/** A record that has no place in a chain yet. */
export interface LooseRecord {
  readonly kind: RecordKind
  readonly time: string
  /** Its own members as the text of a JSON object. */
  readonly text: string
  /** The tables that it speaks of. */
  readonly tables: readonly ObjectId[]
}

/** A record of now. Throws `TypeError` for a body that is no JSON. */
export function looseRecord<Kind extends RecordKind>(
  kind: Kind,
  body: RecordBodies[Kind],
  tables: readonly ObjectId[] = [],
): LooseRecord {
  return { kind, time: new Date().toISOString(), text: JSON.stringify(body), tables }
}

/** An intent of now. The log keeps what is written here, and nothing else that the entry may hold. */
export function intentRecord(entry: IntentEntry): LooseRecord {
  const body = {
    ...only(entry, ['request', 'operation', 'id', 'objects', 'effect']),
    principal: only(entry.principal, principalMembers),
    rule: only(entry.rule, ruleMembers),
    ...only(entry, ['policyRevision', 'client', 'context', 'upstream', 'before', 'details']),
  }
  return looseRecord('intent', body, tablesOf(entry))
}

/** The outcome, of now, of an intent in the same chain. */
export function outcomeRecord(intent: OpenIntent, entry: OutcomeEntry): LooseRecord {
  const body = {
    request: intent.request,
    intentSeq: intent.seq,
    ...only(entry, [
      'result',
      'status',
      'version',
      'versions',
      'upload',
      'outOfBand',
      'durationMs',
      'details',
    ]),
  }
  return looseRecord('outcome', body, intent.tables)
}

/** What an unknown outcome turned out to be, now. */
export function resolvedRecord(intent: IntentPlace, entry: ResolvedEntry): LooseRecord {
  const body = {
    request: intent.request,
    intentSeq: intent.seq,
    intentChain: intent.chain,
    ...only(entry, ['result', 'evidence', 'looks', 'versions', 'outOfBand']),
  }
  return looseRecord('resolved', body, intent.tables)
}

/** A refusal of now. */
export function refusalRecord(entry: RefusalEntry): LooseRecord {
  const body = {
    ...only(entry, ['request', 'status', 'reason', 'operation', 'id']),
    ...(entry.principal && { principal: only(entry.principal, principalMembers) }),
    ...(entry.rule && { rule: only(entry.rule, ruleMembers) }),
    ...only(entry, ['policyRevision', 'client', 'context', 'details']),
  }
  return looseRecord('refusal', body, tablesOf(entry))
}

/** The tables that an entry speaks of, each once. */
export function tablesOf(
  entry: Partial<Pick<IntentEntry, 'operation' | 'id' | 'objects'>>,
): readonly ObjectId[] {
  const named = [{ operation: entry.operation, id: entry.id ?? [] }, ...(entry.objects ?? [])]
  const tables = named.filter(({ operation }) => operation !== undefined && isOfTable(operation))
  return [...new Map(tables.map(({ id }) => [JSON.stringify(id), id])).values()]
}

function isOfTable(permission: Permission): boolean {
  return !(permission in operations) || operations[permission as OperationName].object === 'table'
}

const principalMembers = ['name', 'method', 'credentialId', 'issuer', 'claims'] as const
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
