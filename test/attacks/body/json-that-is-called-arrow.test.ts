import { Field, Int32, RecordBatchStreamWriter, Schema, Table, vectorFromArray } from 'apache-arrow'
import { expect, it } from 'vitest'
import { getHeaderValues } from '../../gateway/support/recording-upstream.ts'
import { attackedGateway } from '../support/attacked-gateway.ts'
import { createChangePolicy } from '../support/policy-templates.ts'

// New columns are sent as JSON or as an Arrow schema. A body that is read as one and used as the other would hide code
// and branches.
const attacked = attackedGateway({
  users: ['ci', 'dev'],
  policies: [createChangePolicy('lake', undefined, { users: ['dev'] })],
})

const target = '/v1/table/lake$orders/add_columns'
const streamType = 'application/vnd.apache.arrow.stream'
const typed = (type: string) => [`content-type: ${type}`]
const schema = Buffer.from(
  RecordBatchStreamWriter.writeAll(
    new Table(new Schema([new Field('a', new Int32(), true)]), []),
  ).toUint8Array(true),
)
const rows = Buffer.from(
  RecordBatchStreamWriter.writeAll(new Table({ a: vectorFromArray([1], new Int32()) })).toUint8Array(true),
)
const json = '{"new_columns":[{"name":"a","virtual_column":{"udf":"AAAA"}}],"branch":"ci/x"}'

it.each([
  ['JSON', Buffer.from(json)],
  ['JSON behind a schema', Buffer.concat([schema, Buffer.from(json)])],
  ['rows', rows],
  ['two schemas', Buffer.concat([schema.subarray(0, -8), schema])],
  ['half a schema', schema.subarray(0, -16)],
  ['an Arrow file', Buffer.from('ARROW1\0\0')],
])('refuses %s that is called an Arrow stream', async (_what, body) => {
  for (const as of ['ci', 'dev']) {
    const attack = { as, target, body, lines: typed(streamType) }
    await attacked.expectInvalid(attack, 'an Arrow IPC stream of a schema without rows')
  }
})

it('refuses an Arrow schema that is called JSON, or anything else', async () => {
  for (const type of ['application/json', 'application/octet-stream']) {
    await attacked.expectInvalid({ as: 'dev', target, body: schema, lines: typed(type) }, 'not valid UTF-8')
  }
  for (const type of ['application/vnd.apache.arrow.file', `${streamType}s`, `text/plain; ${streamType}`]) {
    await attacked.expectInvalid(
      { as: 'dev', target, body: schema, lines: typed(type) },
      'the content-type is',
    )
  }
})

it('refuses an upload that is called JSON', async () => {
  const insert = '/v1/table/lake$orders/insert'
  await attacked.expectInvalid(
    { as: 'dev', target: insert, body: rows, lines: typed('application/json') },
    'the content-type is "application/json"; expected application/vnd.apache.arrow.stream',
  )
})

it('takes an Arrow schema only where columns are added', async () => {
  for (const operation of ['alter_columns', 'drop_columns', 'query']) {
    await attacked.expectInvalid(
      { as: 'dev', target: `/v1/table/lake$orders/${operation}`, body: schema, lines: typed(streamType) },
      'expected application/json',
    )
  }
})

it('an Arrow schema changes main, whatever branches the caller may change', async () => {
  const attack = { target, body: schema, lines: typed(streamType) }
  await attacked.expectDenied({ ...attack, as: 'ci' }, 'AlterTableAddColumns')
  const passed = await attacked.expectForwarded({ ...attack, as: 'dev' })
  expect(await passed.body).toEqual(schema)
  expect(getHeaderValues(passed, 'content-type')).toEqual([streamType])
})

it('bounds an Arrow schema like JSON', async () => {
  const lines = [...typed(streamType), 'content-length: 900000000']
  await attacked.expectRefused(
    { as: 'dev', target, lines, body: '' },
    { kind: 'InvalidInput', status: 413, says: 'larger' },
  )
})
