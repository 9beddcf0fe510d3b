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
  return record(kind, body, tables)
}

/** An intent of now. The log keeps what is written here, and nothing else that the entry may hold. */
export function intentRecord(entry: IntentEntry): LooseRecord {
  const { request, operation, id, objects, effect, principal, rule, details } = entry
  const { policyRevision, client, context, upstream, before } = entry
  const body: Written<IntentEntry> = {
    request,
    operation,
    id,
    objects,
    effect,
    principal: principalOf(principal),
    rule: ruleOf(rule),
    policyRevision,
    client,
    context,
    upstream,
    before,
    details,
  }
  return record('intent', body, tablesOf(operation, id, objects))
}

/** The outcome, of now, of an intent in the same chain. */
export function outcomeRecord(intent: OpenIntent, entry: OutcomeEntry): LooseRecord {
  const { result, status, version, versions, upload, outOfBand, durationMs, details } = entry
  const { request, seq: intentSeq, tables } = intent
  const facts = { status, version, versions, upload, outOfBand, durationMs, details }
  const body: Written<Omit<RecordBodies['outcome'], 'intentChain'>> = { request, intentSeq, result, ...facts }
  return record('outcome', body, tables)
}

/** What an unknown outcome turned out to be, now. */
export function resolvedRecord(intent: IntentPlace, entry: ResolvedEntry): LooseRecord {
  const { request, seq: intentSeq, chain: intentChain, tables } = intent
  const { result, evidence, looks, versions, outOfBand } = entry
  const facts = { result, evidence, looks, versions, outOfBand }
  const body: Written<RecordBodies['resolved']> = { request, intentSeq, intentChain, ...facts }
  return record('resolved', body, tables)
}

/** A refusal of now. */
export function refusalRecord(entry: RefusalEntry): LooseRecord {
  const { request, status, reason, operation, id, principal, rule } = entry
  const { policyRevision, client, context, details } = entry
  const body: Written<RefusalEntry> = {
    request,
    status,
    reason,
    operation,
    id,
    principal: principal && principalOf(principal),
    rule: rule && ruleOf(rule),
    policyRevision,
    client,
    context,
    details,
  }
  return record('refusal', body, operation === undefined ? [] : tablesOf(operation, id ?? []))
}

/**
 * Every member of a body, so that none is forgotten; JSON leaves out those that are undefined. It is written out
 * member by member, as this is done for every change: to copy members by their names takes several times as long.
 */
type Written<Body> = { readonly [Member in keyof Required<Body>]: unknown }

function record(kind: RecordKind, body: object, tables: readonly ObjectId[]): LooseRecord {
  return { kind, time: new Date().toISOString(), text: JSON.stringify(body), tables }
}

/** The tables that an entry speaks of, each once. */
function tablesOf(
  operation: Permission,
  id: ObjectId,
  objects: IntentEntry['objects'] = [],
): readonly ObjectId[] {
  if (objects.length === 0) return isOfTable(operation) ? [id] : []
  const tables = [{ operation, id }, ...objects].filter((named) => isOfTable(named.operation))
  return [...new Map(tables.map(({ id }) => [JSON.stringify(id), id])).values()]
}

function isOfTable(permission: Permission): boolean {
  return !(permission in operations) || operations[permission as OperationName].object === 'table'
}

function principalOf(principal: IntentEntry['principal']): Written<IntentEntry['principal']> {
  const { name, method, credentialId, issuer, claims } = principal
  return { name, method, credentialId, issuer, claims }
}

function ruleOf({ policy, rule, file, line }: IntentEntry['rule']): Written<IntentEntry['rule']> {
  return { policy, rule, file, line }
}
