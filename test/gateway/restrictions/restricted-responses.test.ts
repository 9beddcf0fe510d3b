import {
  Dictionary,
  Field,
  Int32,
  List,
  Schema,
  Struct,
  Utf8,
  tableToIPC,
  Table,
  vectorFromArray,
  type DataType,
} from 'apache-arrow'
import { expect, it } from 'vitest'
import { CatalogError } from '../../../src/catalog-api/catalog-error.ts'
import { RestrictedRows, trimDescription } from '../../../src/gateway/restrictions/restricted-response.ts'
import { hideRestricted } from '../../../src/gateway/stages/respond.ts'
import { expectLinearCost } from '../../support/cost-growth.ts'
import { runAtOnce } from '../../../src/lib/async/run-in-slices.ts'

const text = new Utf8()
const struct = (fields: Readonly<Record<string, DataType>>): Struct =>
  new Struct(Object.entries(fields).map(([name, type]) => new Field(name, type)))
const listOf = (type: DataType): List => new List(new Field('item', type))

const requested = new Set(['id', 'person.city', 'person.home.street', 'tags'])

/** Passes a whole response on. */
function pass(body: Uint8Array): void {
  const rows = new RestrictedRows(requested)
  rows.push(Buffer.from(body))
  rows.end()
}

function passColumns(columns: Readonly<Record<string, DataType>>): void {
  const schema = new Schema(Object.entries(columns).map(([name, type]) => new Field(name, type)))
  pass(tableToIPC(new Table(schema), 'stream'))
}

it.each<[what: string, columns: Readonly<Record<string, DataType>>]>([
  ['no columns', {}],
  ['a column', { id: text }],
  ['a list', { tags: listOf(text) }],
  ['a part of a struct by its path', { 'person.city': text }],
  ['a struct of such parts', { person: struct({ city: text, home: struct({ street: text }) }) }],
  ['a whole struct', { id: struct({ a: text }) }],
])('a response may have %s', (_, columns) => {
  expect(() => passColumns(columns)).not.toThrow()
})

it.each<[what: string, columns: Readonly<Record<string, DataType>>]>([
  ['another column', { id: text, ssn: text }],
  ['another spelling', { ID: text }],
  ['a struct with another part', { person: struct({ city: text, ssn: text }) }],
  ['a struct without parts', { person: struct({}) }],
  ['a part as a column', { city: text }],
])('a response may not have %s', (_, columns) => {
  expect(() => passColumns(columns)).toThrow('the response has a column that was not asked for')
})

it('a response may not have a dictionary', () => {
  const id = vectorFromArray(['a', 'b'], new Dictionary(text, new Int32()))
  expect(() => pass(tableToIPC(new Table({ id }), 'stream'))).toThrow(
    'the response has a dictionary, which may hold values of hidden rows',
  )
})

it.each([
  ['{"id":[1,2,3,4]}', 'the response is not Arrow that can be read: not an Arrow stream'],
  ['', 'the response ends before its columns are known'],
])('the response %j is refused: %s', (body, problem) => {
  expect(() => pass(Buffer.from(body))).toThrow(problem)
})

const restriction = { columns: new Map(), rows: undefined, parts: [] }
const hidden = 'the catalog cannot answer this for a caller who may read a part of the table only'

it.each([
  ['NamespaceNotFound', 'the upstream refused the request with status 404'],
  ['TableNotFound', 'the upstream refused the request with status 404'],
  ['Throttling', 'the upstream refused the request with status 429'],
  ['ServiceUnavailable', 'the upstream refused the request with status 503'],
  ['InvalidInput', hidden],
  ['TableColumnNotFound', hidden],
  ['InvalidTableState', hidden],
  ['Unsupported', hidden],
  ['Internal', hidden],
] as const)('the error %s of an upstream says %s', (kind, message) => {
  const error = new CatalogError(kind, 'no column "ssn"; expected id, ssn', {
    headers: { 'retry-after': '7' },
  })
  const shown = hideRestricted(error, restriction)
  expect(shown.message).toBe(message)
  const isHidden = message === hidden
  expect(shown).toMatchObject({
    kind: isHidden ? 'InvalidInput' : kind,
    status: isHidden ? 400 : error.status,
    ...(!isHidden && { headers: { 'retry-after': '7' } }),
  })
  expect(hideRestricted(error, undefined)).toBe(error)
})

const columns = new Map([...requested].map((name) => [name, 'number' as const]))
const type = (name: string, fields?: readonly unknown[]): object => ({
  type: name,
  ...(fields && { fields }),
})

const field = (name: string, of: object): object => ({
  name,
  type: of,
  nullable: true,
  metadata: { a: 'b' },
})
const shown = (name: string, of: object): object => ({ name, type: of, nullable: true })

function trim(fields: unknown, others: object = {}): unknown {
  const body = Buffer.from(JSON.stringify({ schema: { fields, metadata: { a: 'b' } }, ...others }))
  return JSON.parse(runAtOnce(trimDescription(body, columns)).toString())
}

it('a description keeps the name and version of a table, and no other member', () => {
  const others = { table: 't', namespace: ['n'], version: 7, location: 's3://a', stats: {}, properties: {} }
  expect(trim([], others)).toEqual({ table: 't', namespace: ['n'], version: 7, schema: { fields: [] } })
  const body = Buffer.from('{"table":"t","version":null,"schema":null,"location":"s3://a"}')
  expect(runAtOnce(trimDescription(body, columns)).toString()).toBe('{"table":"t"}')
})

it('a description keeps visible columns, and no metadata', () => {
  const item = type('utf8')
  expect(
    trim([
      field('ssn', type('utf8')),
      field('id', type('int64')),
      field('ID', type('int64')),
      field('tags', type('list', [field('item', item)])),
      field('city', type('utf8')),
      field('pers', type('struct', [field('city', item)])),
      field(
        'person',
        type('struct', [
          field('city', item),
          field('ssn', item),
          field('home', type('struct', [field('street', item), field('no', item)])),
        ]),
      ),
      { name: 'person', type: 'struct' },
    ]),
  ).toEqual({
    schema: {
      fields: [
        shown('id', type('int64')),
        shown('tags', type('list', [shown('item', item)])),
        shown(
          'person',
          type('struct', [shown('city', item), shown('home', type('struct', [shown('street', item)]))]),
        ),
      ],
    },
  })
})

it('the cost of trimming a description grows with its columns', async () => {
  await expectLinearCost(2_000, (size) => {
    const item = type('utf8')
    const fields = Array.from({ length: size }, (_, index) => [
      field(`c${index}`, item),
      field(`s${index}`, type('struct', [field('a', item), field('b', item)])),
    ]).flat()
    const body = Buffer.from(JSON.stringify({ schema: { fields } }))
    const paths = Array.from({ length: size }, (_, index) => [`c${2 * index}`, `s${index}.a`]).flat()
    const wide = new Map(paths.map((path) => [path, 'number' as const]))
    return () => runAtOnce(trimDescription(body, wide))
  })
})

it.each<[what: string, body: unknown]>([
  ['no object', 7],
  ['a schema without fields', { schema: {} }],
  ['a schema that is a text', { schema: 'id' }],
  ['a field that is a text', { schema: { fields: ['id'] } }],
  ['a field without a name', { schema: { fields: [{ type: type('utf8') }] } }],
  ['a struct without fields', { schema: { fields: [{ name: 'person', type: type('struct') }] } }],
])('a description with %s is refused', (_, body) => {
  expect(() => runAtOnce(trimDescription(Buffer.from(JSON.stringify(body)), columns))).toThrow(
    expect.objectContaining({
      status: 502,
      message: 'the catalog described the table without a schema that can be restricted',
    }),
  )
})
