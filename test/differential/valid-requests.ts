import {
  getOperation,
  operationNames,
  type Operation,
  type OperationName,
} from '../../src/catalog-api/operations.ts'
import { rows } from '../conformance/sample-rows.ts'
import { sampleRequests } from '../conformance/sample-requests.ts'
import { allowedId, forbiddenId } from './places.ts'
import type { Random } from './random.ts'
import type { RequestDraft } from './request-draft.ts'

const arrowBody = Buffer.from(rows(3))

/** A request by the grammar of the interface, for any of its operations, mostly for what the caller may use. */
export function validRequest(random: Random, key: string, requestId: string): RequestDraft {
  const operation = getOperation(pickOperation(random))
  const id = random.chance(0.8) ? allowedId(random, operation.object) : forbiddenId(random, operation.object)
  const body = bodyOf(random, operation, id)
  return {
    operation,
    id,
    method: operation.alsoGet && body === undefined && random.chance(0.5) ? 'GET' : operation.method,
    path: pathOf(random, operation, id),
    query: queryOf(random, operation),
    version: 'HTTP/1.1',
    lines: [
      'host: gateway.example',
      `x-api-key: ${key}`,
      `x-request-id: ${requestId}`,
      ...(body === undefined ? [] : [`content-type: ${typeOf(operation)}`]),
    ],
    body,
  }
}

/** Any of them; but what takes objects away comes seldom, and what makes them often, or soon nothing would be left. */
function pickOperation(random: Random): OperationName {
  if (random.chance(0.15)) return random.pick(['CreateTable', 'CreateTable', 'CreateNamespace'])
  const name = random.pick(operationNames)
  return getOperation(name).group === 'drop' && random.chance(0.8) ? pickOperation(random) : name
}

/** An id as it stands in a path. */
export function encodedId(id: readonly string[], delimiter = '$'): string {
  return encodeURIComponent(id.length === 0 ? delimiter : id.join(delimiter)).replaceAll('%24', '$')
}

function pathOf(random: Random, { path, aliases }: Operation, id: readonly string[]): string {
  return random
    .pick([path, ...aliases])
    .replace('{id}', () => encodedId(id))
    .replace('{index_name}', () => random.pick(['id_idx', 'list', 'a%20b']))
}

function queryOf(random: Random, { name, query, required }: Operation): string[] {
  const pairs = required.map((parameter) => `${parameter}=id`)
  for (const [parameter, type] of query) {
    if (required.includes(parameter) || random.chance(0.85)) continue
    const value = {
      boolean: random.pick(['true', 'false', 'True']),
      integer: '3',
      strings: 'id',
      string: 'x',
    }[type]
    pairs.push(
      `${parameter}=${parameter === 'delimiter' ? '%24' : parameter === 'mode' ? modeOf(random, name) : value}`,
    )
  }
  return pairs
}

function modeOf(random: Random, name: string): string {
  return name === 'CreateTable'
    ? random.pick(['create', 'exist_ok', 'Overwrite'])
    : random.pick(['append', 'overwrite'])
}

function typeOf({ body }: Operation): string {
  return body === 'arrow' ? 'application/vnd.apache.arrow.stream' : 'application/json'
}

function bodyOf(random: Random, operation: Operation, id: readonly string[]): Buffer | undefined {
  if (operation.method === 'GET') return undefined
  if (operation.body === 'arrow') return arrowBody
  const { body = {} } = sampleRequests[operation.name] ?? {}
  const members = {
    ...(operation.object !== 'none' && operation.body !== 'map' && random.chance(0.4) && { id }),
    ...(body as object),
    ...batchOf(random, operation.name, id),
  }
  const isEmpty = Object.keys(members).length === 0
  return isEmpty && random.chance(0.5) ? undefined : Buffer.from(JSON.stringify(members))
}

/** The members of a batch: what a table in it is to go through, all of them allowed or one of them not. */
function batchOf(random: Random, name: string, id: readonly string[]): object {
  const other = random.chance(0.7) ? ['sandbox', 'events'] : forbiddenId(random, 'table')
  const version = { version: 2, manifest_path: 'orders.lance/_versions/2.manifest-1' }
  if (name === 'BatchCreateTableVersions') return { entries: [id, other].map((id) => ({ id, ...version })) }
  if (name !== 'BatchCommitTables') return {}
  const operations = [
    { declare_table: { id: other } },
    { create_table_version: { id: other, ...version } },
    { delete_table_versions: { id, ranges: [{ start_version: 9, end_version: 9 }] } },
    { deregister_table: { id: other } },
  ]
  return { operations: [random.pick(operations), random.pick(operations)] }
}
