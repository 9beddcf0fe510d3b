import { tableFromIPC } from 'apache-arrow'
import type { TestResponse } from '../../gateway/support/test-response.ts'
import { canary } from './sample-tables.ts'

/** The responses to one request about each of the tables. */
export interface TableResponses {
  readonly a: TestResponse
  readonly b: TestResponse
  readonly c: TestResponse
}

/** In no response that is not an error: errors quote the names that a request has. */
const hiddenNames = ['ssn', 'region'] as const

/**
 * Returns what the responses reveal of hidden rows and columns: a canary, a hidden name, a difference between `a` and `b`,
 * which differ only in hidden data, or a difference to `c`, which has nothing hidden. Rows without one order count in
 * any order.
 */
export function findLeaks(responses: TableResponses, hasOneOrder: boolean): string[] {
  return compare(responses, (rows) => (hasOneOrder ? rows : rows.toSorted()))
}

/**
 * Returns what the responses reveal if each has some rows of `whole`, which has all of `c`: other rows than these, or another
 * number of rows.
 */
export function findLeaksOfCut(responses: TableResponses, whole: TestResponse): string[] {
  return compare(responses, (rows) => {
    const all = readRows(whole.bytes)
    const others = rows.filter((row) => {
      const at = all.indexOf(row)
      return at === -1 || all.splice(at, 1).length === 0
    })
    return [`${rows.length} rows`, ...others]
  })
}

type ShowRows = (rows: readonly string[]) => readonly string[]

function compare({ a, b, c }: TableResponses, showRows: ShowRows): string[] {
  const [shownA, shownB, shownC] = [a, b, c].map((response) => show(response, showRows))
  const hidden = a.status === 200 ? [canary, ...hiddenNames] : [canary]
  const leaks = [a, b, c].some(({ bytes }) => hidden.some((text) => bytes.includes(text)))
    ? [`hidden text:\n  ${shownA}\n  ${shownB}`]
    : []
  if (shownA !== shownB) leaks.push(`a and b differ:\n  ${shownA}\n  ${shownB}`)
  if (shownA !== shownC) leaks.push(`a and c differ:\n  ${shownA}\n  ${shownC}`)
  return leaks
}

/** What a caller sees of a response, without the ids of the request and of the namespace. */
function show({ status, headers, bytes }: TestResponse, showRows: ShowRows): string {
  const isArrow = String(headers['content-type']).startsWith('application/vnd.apache.arrow')
  const content = isArrow
    ? [...readColumns(bytes), ...showRows(readRows(bytes))].join('\n    ')
    : bytes.toString().replace(/"instance":"[^"]*"|place_[abc]/g, '')
  return `${status} ${Object.keys(headers).toSorted().join()} ${content}`
}

function readColumns(bytes: Buffer): readonly string[] {
  return tableFromIPC(bytes).schema.fields.map(({ name, type }) => `${name}: ${String(type)}`)
}

function readRows(bytes: Buffer): string[] {
  return tableFromIPC(bytes)
    .toArray()
    .map((row: unknown) => JSON.stringify(row, (_, value: unknown) => showNumber(value)))
}

function showNumber(value: unknown): unknown {
  return typeof value === 'bigint' || Number.isNaN(value) ? String(value) : value
}
