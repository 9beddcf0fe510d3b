import { auditRecords } from './growth/audit-records.ts'
import { measureOnce, type Cost } from './growth/growth.ts'
import { keys } from './growth/keys.ts'
import { listings } from './growth/listings.ts'
import { policies } from './growth/policies.ts'
import { principals } from './growth/principals.ts'
import { markdownTable } from './report.ts'
import { stopServers } from './server-process.ts'

/*
 * Measures how costs grow with the number of keys, policies, principals, tables and audit records: CPU time, each once, in a process
 * of the given Node.
 */

try {
  for (const growth of [keys, policies, principals, listings, auditRecords]) {
    const bySize = new Map<number, readonly Cost[]>()
    for (const size of growth.sizes) bySize.set(size, await measureOnce(growth, size))
    const costs = [...bySize.values()].at(0) ?? []
    const rows = costs.map(({ what, unit }, index) => [
      `${what}, ${unit}`,
      ...growth.sizes.map((size) => formatRounded(bySize.get(size)?.[index]?.amount ?? NaN)),
    ])
    console.log(markdownTable([growth.unit, ...growth.sizes.map((size) => size.toLocaleString('en'))], rows))
    console.log()
  }
} finally {
  await stopServers()
}

/** With two digits. */
function formatRounded(amount: number): string {
  return Number(amount.toPrecision(2)).toLocaleString('en')
}
