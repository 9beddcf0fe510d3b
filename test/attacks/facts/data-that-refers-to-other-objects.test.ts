import {
  Field,
  Int32,
  LargeBinary,
  RecordBatch,
  RecordBatchStreamWriter,
  Schema,
  Struct,
  Table,
  Utf8,
  vectorFromArray,
  type DataType,
} from 'apache-arrow'
import { describe, expect, it } from 'vitest'
import { extraOperations } from '../../gateway/support/extra-operations.ts'
import { withUpstream } from '../../gateway/support/open-gateway.ts'
import { arrowUpload, endOfStreamBytes, schemaStream } from '../../support/arrow-upload.ts'
import { attackedGateway } from '../support/attacked-gateway.ts'
import { policyOf, ruleFor } from '../support/policy-templates.ts'

// A column whose values refer to objects makes the catalog read them with its own credential: tables of others, too.
// `owner` may do everything that groups allow, and `curator` also refer to objects.
const attacked = attackedGateway({
  ...withUpstream(() => ({ extraOperations })),
  users: ['owner', 'curator'],
  policies: [policyOf(['lake'], [ruleFor(['owner', 'curator']), ruleFor(['curator'], ['ReferenceData'])])],
})

const nameKey = 'ARROW:extension:name'
const marked: [key: string, value: string] = [nameKey, 'lance.blob.v2']
const blobStorage = new Struct<Record<string, DataType>>([
  new Field('data', new LargeBinary(), true),
  new Field('uri', new Utf8(), true),
])

function column(name: string, type: DataType, ...metadata: readonly (readonly [string, string])[]): Field {
  return new Field(name, type, true, new Map(metadata))
}

const blob = (name: string): Field => column(name, blobStorage, marked)
const streamOf = (...fields: Field[]): Buffer => schemaStream(new Schema(fields))

// At any depth of the schema, in gateway/body/check-column-metadata.test.ts.
const hidden: Record<string, Buffer> = {
  'in a column': streamOf(column('id', new Int32()), blob('image')),
  'as a blob of an older name': streamOf(column('b', new LargeBinary(), ['lance-encoding:blob', 'true'])),
  'beside the same key with the same value': withRepeatedKey('lance.blob.v2'),
}

/** Two keys of one length; the second is renamed in the bytes: a map of metadata has each key once. */
function withRepeatedKey(value: string): Buffer {
  const stream = streamOf(
    column('b', blobStorage, [nameKey, value], ['ARROW:extension:nam_', 'lance.blob.v2']),
  )
  stream.write('name', stream.indexOf('ARROW:extension:nam_') + nameKey.length - 4)
  return stream
}

const type = 'content-type: application/vnd.apache.arrow.stream'
const insert = '/v1/table/lake$orders/insert'
const uploads = [
  insert,
  '/v1/table/lake$orders/insert?mode=overwrite',
  '/v1/table/lake$orders/create',
  '/v1/table/lake$orders/merge_insert?on=id',
  '/v1/table/lake$orders/add_columns',
  '/v1/table/lake$orders/multipart_write/part',
]

const refused = {
  kind: 'PermissionDenied',
  says: /^you are not allowed ReferenceData \(columns of type (lance\.blob\.v2|lance-encoding:blob)\) on "lake\$orders"$/,
} as const

describe.each(Object.entries(hidden))('a reference %s', (_where, body) => {
  it.each(uploads)('needs a permission that no group holds: %s', async (target) => {
    await attacked.expectRefused({ as: 'owner', target, body, lines: [type] }, refused)
    const passed = await attacked.expectForwarded({ as: 'curator', target, body, lines: [type] })
    expect(await passed.body).toEqual(body)
  })

  it('is found in chunks of one byte', async () => {
    const chunks = [...body].map((byte) => Buffer.from([0x31, 13, 10, byte, 13, 10]))
    const chunked = Buffer.concat([...chunks, Buffer.from('0\r\n\r\n')])
    const lines = [type, 'transfer-encoding: chunked']
    await attacked.expectRefused({ as: 'owner', target: insert, body: chunked, lines }, refused)
    const passed = await attacked.expectForwarded({ as: 'curator', target: insert, body: chunked, lines })
    expect(await passed.body).toEqual(body)
  })

  it('is recorded', async () => {
    await attacked.expectForwarded({ as: 'curator', target: insert, body, lines: [type] })
    expect((await attacked.gateway.recorded('intent')).at(-1)).toMatchObject({
      objects: [{ operation: 'ReferenceData' }],
    })
    expect((await attacked.gateway.recorded('outcome')).at(-1)?.upload?.references).toHaveLength(1)
  })
})

const plain = arrowUpload.subarray(0, -endOfStreamBytes)

it.each([
  ['in a second schema', Buffer.concat([plain, streamOf(blob('b'))]), 'unexpected message'],
  ['behind another name for one key', withRepeatedKey('arrow.uuid'), 'a key of the metadata has two values'],
  ['in a stream of the oldest format', streamOf(blob('b')).subarray(4), 'not an Arrow stream'],
  ['in a schema that is cut', streamOf(blob('b')).subarray(0, -40), 'ends before the schema'],
])('a reference %s never reaches the upstream', async (_where, body, says) => {
  const target = '/v1/table/lake$orders/create'
  for (const as of ['owner', 'curator'])
    await attacked.expectInvalid({ as, target, body, lines: [type] }, says)
})

it.each([
  ['the extension name in another case', 'arrow:Extension:name', 'lance.blob.v2'],
  ['the extension name with a space', ' ARROW:extension:name', 'lance.blob.v2'],
  ['the definition of a materialized view', 'mv.definition', '{"format":2,"query":"SELECT * FROM vault"}'],
  ['functions of columns', 'lancedb::function_bindings', '[]'],
  ['an encoding that nobody knows', 'LANCE-ENCODING:blob', 'true'],
])('%s in metadata is refused', async (_what, key, value) => {
  const expected = {
    kind: 'InvalidInput',
    says: /metadata ".*(omit it|write "ARROW:extension:name")/,
  } as const
  const ofColumn = streamOf(column('b', new LargeBinary(), [key, value]))
  const ofSchema = schemaStream(new Schema([column('b', new LargeBinary())], new Map([[key, value]])))
  for (const body of [ofColumn, ofSchema]) {
    for (const target of uploads.slice(1, 3))
      await attacked.expectRefused({ as: 'curator', target, body, lines: [type] }, expected)
  }
  const metadata = { [key]: value }
  const bodies: readonly (readonly [path: string, body: object])[] = [
    ['update_field_metadata', { updates: [{ path: 'b', metadata }] }],
    ['alter_columns', alterType({ ...jsonBlob, metadata })],
    ['alter_columns', { alterations: [{ path: 'b', virtual_column: { field_metadata: metadata } }] }],
    ['add_columns', { new_columns: [{ name: 'b', virtual_column: { outputs: [{ metadata }] } }] }],
    ['add_columns', functionBody({ output: { ...jsonBlob, metadata } })],
    ['schema_metadata/update', metadata],
  ]
  for (const [path, body] of bodies) {
    const request = { as: 'curator', target: `/v1/table/lake$orders/${path}`, body, lines: json }
    await attacked.expectRefused(request, expected)
  }
  // Null removes a key.
  const target = '/v1/table/lake$orders/schema_metadata/update'
  await attacked.expectForwarded({ as: 'curator', target, body: { [key]: null }, lines: json })
})

it('metadata of the table comes back with its rows', async () => {
  const body = streamOf(column('b', new Int32(), ['computed_column.kind', 'sql'], ['lance:unknown', '1']))
  for (const target of [insert, '/v1/table/lake$orders/merge_insert?on=b'])
    await attacked.expectForwarded({ as: 'owner', target, body, lines: [type] })
})

it.each(['nobody.knows', 'Lance.Blob.V2', ''])('the unknown extension type %j is refused', async (name) => {
  const expected = {
    kind: 'InvalidInput',
    says: /the column "s\.b" has the extension type ".*whose values the gateway does not know/,
  } as const
  const body = streamOf(column('s', new Struct([column('b', blobStorage, [nameKey, name])])))
  for (const target of uploads)
    await attacked.expectRefused({ as: 'curator', target, body, lines: [type] }, expected)
  const altered = alterType({ ...jsonBlob, metadata: { [nameKey]: name } })
  const target = '/v1/table/lake$orders/alter_columns'
  await attacked.expectRefused({ as: 'curator', target, body: altered, lines: json }, expected)
})

/** A field in JSON, with the metadata of a blob column. */
const jsonBlob = {
  name: 'b',
  nullable: true,
  type: { type: 'struct', fields: [{ name: 'uri', nullable: true, type: { type: 'string' } }] },
  metadata: { [nameKey]: marked[1] },
}

/** The columns of a function, as the remote client of LanceDB sends them. */
function functionBody(fields: { readonly input?: object; readonly output?: object }): object {
  const plain = { name: 'a', nullable: true, type: { type: 'int64' } }
  return {
    new_columns: [{ name: 'a', all_null: true }],
    function: {
      application: {
        function: { name: 'f', namespace_path: ['lake'], object_id: 'o', version: '1' },
        inputs: [{ parameter: 'a', kind: 'column', value: { path: 'a' } }],
        output: { kind: 'scalar', arrow_type: 'int64', nullable: false },
        initialization: { model: { size: 'small', threads: [1, 2.5] } },
      },
      binding_metadata_version: 1,
      input_bindings: [{ parameter: 'a', field_path: 'a', arrow_type: 'int64', nullable: true }],
      input_schema: { fields: [fields.input ?? plain] },
      output_schema: { fields: [fields.output ?? plain] },
      outputs: [{ result_field: '$value', output_name: 'a', output_ordinal: 0 }],
    },
  }
}

const alterType = (...fields: object[]) => ({
  alterations: [
    { path: 'a', rename: 'c' },
    { path: 's', data_type: { type: 'struct', fields } },
  ],
})

const json = ['content-type: application/json']
const listOf = (item: object) => ({ name: 'list', nullable: true, type: { type: 'list', fields: [item] } })

it.each<[what: string, path: string, body: object]>([
  [
    'new metadata of a column',
    'update_field_metadata',
    {
      updates: [
        { path: 'a', metadata: { note: 'x' } },
        { path: 'b', metadata: { [nameKey]: marked[1] } },
      ],
    },
  ],
  ['a field of a new type', 'alter_columns', alterType(jsonBlob)],
  ['an item of a list in a new type', 'alter_columns', alterType(listOf(listOf(jsonBlob)))],
  ['a result of a function', 'add_columns', functionBody({ output: jsonBlob })],
  ['an input of a function', 'add_columns', functionBody({ input: jsonBlob })],
])('JSON that makes a column one with references needs the permission: %s', async (_what, path, body) => {
  const request = { target: `/v1/table/lake$orders/${path}`, lines: json, body }
  await attacked.expectRefused({ ...request, as: 'owner' }, refused)
  await attacked.expectForwarded({ ...request, as: 'curator' })
})

it.each<[path: string, body: object]>([
  ['alter_columns', alterType({ ...jsonBlob, metadata: { [nameKey]: 'arrow.json', unit: 'm' } })],
  ['alter_columns', { alterations: [{ path: 'a', data_type: 'int64' }] }],
  ['alter_columns', { alterations: [{ path: 'a', data_type: { type: 'fixed_size_binary', length: 16 } }] }],
  ['add_columns', functionBody({})],
  ['add_columns', functionBody({ input: { ...jsonBlob, metadata: { 'geneva.any': 'of the table' } } })],
])('columns without references need no permission: %s %j', async (path, body) => {
  const request = { as: 'owner', target: `/v1/table/lake$orders/${path}`, lines: json, body }
  const passed = await attacked.expectForwarded(request)
  expect(String(await passed.body)).toBe(JSON.stringify(body))
})

it.each([
  'external_blob_mode',
  'allow-external-blob-outside-bases',
  'initialBases',
  'lance.target_bases',
  'BASES',
])('no option of the catalog switches it: %s', async (name) => {
  const options = encodeURIComponent(JSON.stringify({ [name]: 'reference' }))
  const upload = { as: 'curator', body: arrowUpload }
  for (const target of [`${insert}?${name}=1`, `/v1/table/lake$orders/create?${name}=1`]) {
    const says = 'unknown query parameter'
    await attacked.expectInvalid({ ...upload, target, lines: [type] }, says)
  }
  const says = 'read further objects'
  for (const parameter of ['properties', 'storage_options']) {
    const target = `/v1/table/lake$orders/create?${parameter}=${options}`
    await attacked.expectInvalid({ ...upload, target, lines: [type] }, says)
  }
  await attacked.expectInvalid(
    { as: 'curator', target: '/v1/table/lake$orders/declare', body: { properties: { [name]: '1' } } },
    says,
  )
})

it('a large upload with dictionaries streams as before', async () => {
  const words = vectorFromArray(Array.from({ length: 100_000 }, (_, index) => `word ${index % 1000}`))
  const numbers = vectorFromArray(
    Array.from({ length: 100_000 }, (_, index) => index),
    new Int32(),
  )
  const writer = new RecordBatchStreamWriter()
  for (const { schema, data } of new Table({ words, numbers }).batches)
    writer.write(new RecordBatch(schema, data))
  const body = Buffer.from(writer.finish().toUint8Array(true))
  const passed = await attacked.expectForwarded({ as: 'owner', target: insert, body, lines: [type] })
  expect((await passed.body).equals(body)).toBe(true)
})
