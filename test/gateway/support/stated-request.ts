import type { FactSourcePath } from '../../../src/catalog-api/facts.ts'
import type { OperationName } from '../../../src/catalog-api/operations.ts'
import { createMinimalRequest } from './minimal-request.ts'
import { getHeaderValues, type ReceivedRequest } from './recording-upstream.ts'

export interface Statement {
  readonly place: FactSourcePath
  readonly value: unknown
}

export interface StatedRequest {
  readonly method: 'GET' | 'POST'
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  /** Undefined for an operation without a JSON body. */
  readonly members: Readonly<Record<string, unknown>> | undefined
}

/** Creates the minimal request of an operation with these statements, on the table `sales$orders` by default. */
export function createStatingRequest(
  name: OperationName,
  statements: readonly Statement[],
  table = 'orders',
): StatedRequest {
  const { method, path, members: least, query } = createMinimalRequest(name)
  const { location: _dropped, ...members } = { ...least } as Record<string, unknown>
  const isWrapped =
    name === 'UpdateTableSchemaMetadata' && statements.some(({ place: location }) => isInBody(location))
  const body: Record<string, unknown> = isWrapped ? { metadata: members } : members
  const parameters = new URLSearchParams(query)
  const headers: Record<string, string> = {}
  for (const { place, value } of statements) {
    const [part, key] = split(place)
    if (part === 'query') parameters.append(key, toText(value))
    else if (part === 'header') headers[`x-catalog-table-${key}`] = toText(value)
    else if (part === 'body') body[key] = value
    else if (part === 'body.query') body['query'] = { ...(body['query'] as object), [key]: value }
    else if (least === undefined) parameters.set('properties', JSON.stringify({ [key]: value }))
    else body['properties'] = { [key]: value }
  }
  const search = parameters.toString()
  return {
    method,
    target: path.replace('orders', table) + (search && `?${search}`),
    headers: { 'content-type': least === undefined ? arrowStream : 'application/json', ...headers },
    members: least === undefined ? undefined : body,
  }
}

const arrowStream = 'application/vnd.apache.arrow.stream'

/** The text that arrived in a location; undefined for nothing. */
export async function readStatedValue(
  arrival: ReceivedRequest,
  location: FactSourcePath,
): Promise<string | undefined> {
  const [part, key] = split(location)
  const parameters = new URL(arrival.target, 'http://upstream').searchParams
  if (part === 'query') return parameters.get(key) ?? undefined
  if (part === 'header') return getHeaderValues(arrival, `x-catalog-table-${key}`)[0]
  const text = String(await arrival.body)
  const body = text.startsWith('{') ? (JSON.parse(text) as Record<string, unknown>) : {}
  if (part === 'body') return toText(body[key])
  if (part === 'body.query') return toText((body['query'] as Record<string, unknown> | undefined)?.[key])
  const properties = parameters.get('properties') ?? JSON.stringify(body['properties'] ?? {})
  return toText((JSON.parse(properties) as Record<string, unknown>)[key])
}

export function toText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function split(location: FactSourcePath): readonly [part: string, key: string] {
  const dot = location.lastIndexOf('.')
  return [location.slice(0, dot), location.slice(dot + 1)]
}

function isInBody(location: FactSourcePath): boolean {
  return location.startsWith('body.')
}
