import {
  getOperation,
  operationNames,
  type BuiltInOperation,
  type OperationName,
} from '../../src/catalog-api/operations.ts'
import { rows } from '../conformance/sample-rows.ts'
import { sampleRequests } from '../conformance/sample-requests.ts'
import { pickAllowedId, pickForbiddenId, restrictedTable } from './test-objects.ts'
import type { Random } from './random.ts'
import type { RequestDraft } from './request-draft.ts'

const arrowBody = Buffer.from(rows(3))

/** Creates a valid request for any operation, mostly on an object that the caller may access. */
export function createValidRequest(random: Random, key: string, requestId: string): RequestDraft {
  const isRestricted = random.chance(0.1)
  const operation = getOperation(isRestricted ? random.pick(restrictedReads) : pickOperation(random))
  const id = isRestricted ? restrictedTable : pickId(random, operation.object)
  const body = createBody(random, operation, id)
  return {
    operation,
    id,
    method: pickMethod(random, operation, body),
    path: createPath(random, operation, id),
    query: createQuery(random, operation),
    version: 'HTTP/1.1',
    lines: [
      'host: gateway.example',
      `x-api-key: ${key}`,
      `x-request-id: ${requestId}`,
      ...(body === undefined ? [] : [`content-type: ${getContentType(operation)}`]),
    ],
    body,
  }
}

const restrictedReads = ['QueryTable', 'QueryTable', 'CountTableRows', 'DescribeTable'] as const

function pickId(random: Random, kind: string): readonly string[] {
  return random.chance(0.8) ? pickAllowedId(random, kind) : pickForbiddenId(random, kind)
}

function pickMethod(random: Random, { method, methods }: BuiltInOperation, body: Buffer | undefined): string {
  return body === undefined && random.chance(0.5) ? random.pick(methods) : method
}

/** Picks any operation, but drops rarely and creations often, so that objects remain. */
function pickOperation(random: Random): OperationName {
  if (random.chance(0.15)) return random.pick(['CreateTable', 'CreateTable', 'CreateNamespace'])
  const name = random.pick(operationNames)
  return getOperation(name).group === 'drop' && random.chance(0.8) ? pickOperation(random) : name
}

/** Encodes an id for a path. */
export function encodeId(id: readonly string[], delimiter = '$'): string {
  return encodeURIComponent(id.length === 0 ? delimiter : id.join(delimiter)).replaceAll('%24', '$')
}

function createPath(random: Random, { path, aliases }: BuiltInOperation, id: readonly string[]): string {
  return random
    .pick([path, ...aliases])
    .replace('{id}', () => encodeId(id))
    .replace('{index_name}', () => random.pick(['id_idx', 'list', 'a%20b']))
    .replace('{column}', () => random.pick(['image', 'info.blob', 'a%20b']))
    .replace('{row_id}', () => random.pick(['0', '7', '18446744073709551615']))
}

function createQuery(random: Random, { name, query, required }: BuiltInOperation): string[] {
  const pairs = required.map((parameter) => `${parameter}=id`)
  for (const [parameter, type] of query) {
    if (required.includes(parameter) || random.chance(0.85)) continue
    const value = {
      boolean: random.pick(['true', 'false', 'True']),
      integer: '3',
      long: '3',
      strings: 'id',
      string: 'x',
    }[type]
    pairs.push(
      `${parameter}=${parameter === 'delimiter' ? '%24' : parameter === 'mode' ? pickMode(random, name) : value}`,
    )
  }
  return pairs
}

function pickMode(random: Random, name: string): string {
  return name === 'CreateTable'
    ? random.pick(['create', 'exist_ok', 'Overwrite'])
    : random.pick(['append', 'overwrite'])
}

function getContentType({ body }: BuiltInOperation): string {
  return body === 'arrow' ? 'application/vnd.apache.arrow.stream' : 'application/json'
}

function createBody(random: Random, operation: BuiltInOperation, id: readonly string[]): Buffer | undefined {
  if (operation.method === 'GET') return undefined
  if (operation.body === 'arrow') return arrowBody
  const { body = {} } = sampleRequests[operation.name] ?? {}
  const members = {
    ...(operation.object !== 'none' && operation.body !== 'map' && random.chance(0.4) && { id }),
    ...(body as object),
    ...createBatch(random, operation.name, id),
  }
  const isEmpty = Object.keys(members).length === 0
  return isEmpty && random.chance(0.5) ? undefined : Buffer.from(JSON.stringify(members))
}

/** Members of a batch, sometimes with a forbidden table. */
function createBatch(random: Random, name: string, id: readonly string[]): object {
  const other = random.chance(0.7) ? ['sandbox', 'events'] : pickForbiddenId(random, 'table')
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
