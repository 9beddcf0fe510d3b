import type { AuditRecord } from '../../src/audit/records/audit-record.ts'
import type { LogLine } from './spawned-process.ts'

/** Log lines and audit intents of the gateway, by request id. */
export interface GatewayRecords {
  readonly lines: ReadonlyMap<string, readonly LogLine[]>
  readonly intents: ReadonlyMap<string, readonly Intent[]>
}

type Intent = AuditRecord<'intent'>

/** Indexes the lines of completed requests and the intents. Ignores all other lines and records. */
export function indexGatewayRecords(
  log: readonly LogLine[],
  auditRecords: readonly AuditRecord[],
): GatewayRecords {
  const lines = log.filter(({ msg }) => msg === 'request completed')
  const intents = auditRecords.filter((record) => record.kind === 'intent')
  return {
    lines: groupBy(lines, ({ requestId }) => String(requestId)),
    intents: groupBy(intents, ({ request }) => request),
  }
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
