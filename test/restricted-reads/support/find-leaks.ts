import { tableFromIPC } from 'apache-arrow'
import type { TestResponse } from '../../gateway/support/test-response.ts'
import { canary } from './sample-tables.ts'

/** The responses to one request about each of the tables. */
export interface TableResponses {
  readonly a: TestResponse
  readonly b: TestResponse
  readonly c: TestResponse
}

/**
 * Returns what the responses reveal of hidden rows and columns: a canary, a difference between `a` and `b`, which differ
 * only in what is hidden, or a difference to `c`, which has nothing hidden. Rows without an order count in any order.
 */
export function findLeaks({ a, b, c }: TableResponses, isOrdered: boolean): string[] {
  const [shownA, shownB, shownC] = [a, b, c].map((response) => show(response, isOrdered))
  const leaks = [a, b, c].some(({ bytes }) => bytes.includes(canary))
    ? [`canary:\n  ${shownA}\n  ${shownB}`]
    : []
  if (shownA !== shownB) leaks.push(`a and b differ:\n  ${shownA}\n  ${shownB}`)
  if (shownA !== shownC) leaks.push(`a and c differ:\n  ${shownA}\n  ${shownC}`)
  return leaks
}

/** What a caller sees of a response, without the ids of the request and of the namespace. */
function show({ status, headers, bytes }: TestResponse, isOrdered: boolean): string {
  const isArrow = String(headers['content-type']).startsWith('application/vnd.apache.arrow')
  const content = isArrow
    ? showRows(bytes, isOrdered)
    : bytes.toString().replace(/"instance":"[^"]*"|place_[abc]/g, '')
  return `${status} ${Object.keys(headers).toSorted().join()} ${content}`
}

function showRows(bytes: Buffer, isOrdered: boolean): string {
  const table = tableFromIPC(bytes)
  const columns = table.schema.fields.map(({ name, type }) => `${name}: ${String(type)}`)
  const rows = table
    .toArray()
    .map((row: unknown) => JSON.stringify(row, (_, value: unknown) => showNumber(value)))
  return [...columns, ...(isOrdered ? rows : rows.toSorted())].join('\n    ')
}

function showNumber(value: unknown): unknown {
  return typeof value === 'bigint' || Number.isNaN(value) ? String(value) : value
}
