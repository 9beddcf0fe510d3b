import type { StoredRecord } from '../../src/audit/storage/read-audit-log.ts'
import { getOperation, type OperationName } from '../../src/catalog-api/operations.ts'
import type { Arrival } from './lenient-catalog.ts'
import { allowedNamespace } from './places.ts'
import { textOf, type Reading } from './readings.ts'
import type { LogLine } from './spawned-process.ts'

/** What the gateway says of the requests that it was sent: the lines of its log and its audit log, by request id. */
export interface Authorized {
  readonly lines: ReadonlyMap<string, readonly LogLine[]>
  readonly intents: ReadonlyMap<string, readonly Intent[]>
}

type Intent = Extract<StoredRecord, { kind: 'intent' }>

/** Puts the lines of requests, and the intents, in order. */
export function authorizedIn(log: readonly LogLine[], records: readonly StoredRecord[]): Authorized {
  const lines = log.filter(({ msg }) => msg === 'request completed')
  const intents = records.filter((record) => record.kind === 'intent')
  return {
    lines: groupBy(lines, ({ requestId }) => String(requestId)),
    intents: groupBy(intents, ({ request }) => request),
  }
}

/** What differs between what was authorized and what the upstream could make of what it got; empty if nothing does. */
export function differencesOf(arrival: Arrival, { lines, intents }: Authorized): string[] {
  const [line, ...others] = lines.get(arrival.requestId) ?? []
  if (line === undefined || others.length > 0) return [`${others.length + (line ? 1 : 0)} lines in the log`]
  const own = { operation: String(line['operation']), id: line['id'] as string[] }
  const recorded = intents.get(arrival.requestId) ?? []
  const objects = recorded.flatMap(({ objects = [] }) => objects)
  const isChange = getOperation(own.operation as OperationName).effect !== 'read'
  const isRecorded = recorded.length === 1 && recorded.every((intent) => textOf(intent) === textOf(own))
  const known = new Set([own, ...objects].map(textOf))
  return [
    ...(arrival.readings.length === 0 ? ['nobody can read it'] : []),
    ...arrival.readings
      .filter((reading) => textOf(reading) !== textOf(own))
      .map((reading) => `read as ${textOf(reading)}`),
    ...arrival.inner
      .filter((reading) => !known.has(textOf(reading)))
      .map((reading) => `does ${textOf(reading)} too`),
    ...[own, ...objects]
      .filter((reading) => !isAllowed(reading))
      .map((reading) => `allowed ${textOf(reading)}`),
    ...(isChange && !isRecorded ? [`${recorded.length} intents, or one of something else`] : []),
    ...arrival.claims.map((claim) => `the upstream gets ${claim}`),
    ...(line['principal'] === 'writer' ? [] : [`the caller is ${String(line['principal'])}`]),
  ].map((difference) => `authorized as ${textOf(own)}: ${difference}`)
}

/** What names no object decides by its entries; listings from above hold what is allowed beneath. */
function isAllowed({ operation, id }: Reading): boolean {
  return (
    id[0] === allowedNamespace ||
    (id.length === 0 && /^(?:List(?:Namespaces|Tables|AllTables)|Batch.*)$/.test(operation))
  )
}

function groupBy<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
): ReadonlyMap<string, readonly Item[]> {
  const groups = new Map<string, Item[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return groups
}
