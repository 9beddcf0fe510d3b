import type { DeliveredRecord } from './delivered-record.ts'

export type Severity = 'Informational' | 'Low' | 'Medium' | 'High'

/** Kinds that indicate that the log or its delivery may be incomplete, or that a table was changed past the gateway. */
const highSeverityKinds: ReadonlySet<string> = new Set([
  'comparison',
  'gap',
  'recovered',
  'tampered',
  'undelivered',
])

/** Returns how much attention a record requires, by the names of OCSF. */
export function getSeverity(record: DeliveredRecord): Severity {
  if (highSeverityKinds.has(record.kind)) return 'High'
  if ((record.kind === 'outcome' || record.kind === 'resolved') && record.outOfBand) return 'High'
  if ('result' in record && isUncertain(record.result)) return 'Medium'
  return record.kind === 'refusal' ? 'Low' : 'Informational'
}

/** Whether nobody knows if a change happened. */
export function isUncertain(result: string): boolean {
  return result === 'unknown' || result === 'undecided'
}
