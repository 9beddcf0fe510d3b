import {
  Field,
  FixedSizeBinary,
  FixedSizeList,
  Float32,
  Int32,
  List,
  Schema,
  Struct,
  type DataType,
} from 'apache-arrow'
import { expect, it } from 'vitest'
import { schemaStream } from '../../../../test/support/arrow-upload.ts'
import { backendWithTable, runningBackend } from '../support/running-backend.ts'

const column = (name: string, type: DataType) => new Field(name, type, true)
const listOf = (size: number) => new FixedSizeList(size, column('item', new Float32()))

/** Columns, and what the message says. */
const refused: readonly (readonly [Field, says: RegExp])[] = [
  [column('a.b', new Int32()), /^Top level field a\.b cannot contain `\.`/],
  [column('v', listOf(0)), /^Field "v" contains a FixedSizeList with dimension 0/],
  [
    column('v', new List(column('item', listOf(0)))),
    /^Field "item" contains a FixedSizeList with dimension 0/,
  ],
  [column('b', new FixedSizeBinary(0)), /^invalid column "b": a fixed_size_binary of size 0; expected/],
  [column('b', new FixedSizeBinary(-1)), /^invalid column "b": a fixed_size_binary of size -1; expected/],
  [
    column('s', new Struct([column('b', new FixedSizeBinary(0))])),
    /^invalid column "s\.b": a fixed_size_binary/,
  ],
  [column('', new Int32()), /^invalid column "": expected a name that is not empty/],
  [column('a`b', new Int32()), /^invalid column "a`b": expected a name .* no backtick/],
]

it('a table with a column that the engine cannot store is refused with the reason, and not created', async () => {
  const { post, get } = await runningBackend()
  for (const [field, says] of refused) {
    const { status, json } = await post('/v1/table/t/create', schemaStream(new Schema([field])))
    expect([status, (json as { error: string }).error]).toEqual([400, expect.stringMatching(says)])
  }
  expect((await get('/v1/table')).json).toEqual({ tables: [] })
})

it('such a column neither replaces the rows of a table nor is added to it', async () => {
  const { post } = await backendWithTable()
  const arrow = { 'content-type': 'application/vnd.apache.arrow.stream' }
  for (const [field] of refused) {
    const stream = schemaStream(new Schema([field]))
    for (const path of ['insert?mode=overwrite', 'add_columns']) {
      const { status, json } = await post(`/v1/table/t/${path}`, stream, arrow)
      expect([status, (json as { error: string }).error]).toEqual([400, expect.not.stringMatching(/stream/)])
    }
  }
  expect((await post('/v1/table/t/count_rows', {})).json).toBe(3)
})
