import {
  Binary,
  Bool,
  DateDay,
  DateMillisecond,
  Decimal,
  Dictionary,
  Duration,
  Field,
  FixedSizeBinary,
  FixedSizeList,
  Float16,
  Float32,
  Float64,
  Int16,
  Int32,
  Int64,
  Int8,
  LargeBinary,
  LargeUtf8,
  List,
  Map_,
  Null,
  Schema,
  Struct,
  TimeMicrosecond,
  TimeSecond,
  TimeUnit,
  TimestampMicrosecond,
  TimestampSecond,
  Uint64,
  Utf8,
} from 'apache-arrow'
import type { DataType } from 'apache-arrow'
import { describe, expect, it } from 'vitest'
import { readSchemaStream } from '../../../arrow/index.ts'
import { schemaToJson } from '../../engine/schema/schema-json.ts'
import { schemaOnly } from './sample-tables.ts'

const item = new Field('item', new Float32(), true)
const entries = new Field<Struct<{ key: Utf8; value: Int32 }>>(
  'entries',
  new Struct([new Field('key', new Utf8(), false), new Field('value', new Int32(), true)]),
  false,
)

const names: readonly [DataType, string, string][] = [
  [new Null(), 'null', 'null'],
  [new Bool(), 'bool', 'bool'],
  [new Int8(), 'int8', 'int8'],
  [new Int16(), 'int16', 'int16'],
  [new Int64(), 'int64', 'int64'],
  [new Uint64(), 'uint64', 'uint64'],
  [new Float16(), 'float16', 'halffloat'],
  [new Float32(), 'float32', 'float'],
  [new Float64(), 'float64', 'double'],
  [new Utf8(), 'utf8', 'string'],
  [new LargeUtf8(), 'large_utf8', 'large_string'],
  [new Binary(), 'binary', 'binary'],
  [new LargeBinary(), 'large_binary', 'large_binary'],
  [new DateDay(), 'date32', 'date32:day'],
  [new DateMillisecond(), 'date64', 'date64:ms'],
  [new TimeSecond(), 'time32', 'time32:s'],
  [new TimeMicrosecond(), 'time64', 'time64:us'],
  [new TimestampSecond(), 'timestamp', 'timestamp:s:-'],
  [new TimestampMicrosecond('UTC'), 'timestamp', 'timestamp:us:UTC'],
  [new Duration(TimeUnit.NANOSECOND), 'duration', 'duration:ns'],
  [new Decimal(2, 10, 128), 'decimal128', 'decimal:128:10:2'],
  [new Dictionary(new Utf8(), new Int16()), 'utf8', 'dict:string:int16:false'],
  [new FixedSizeBinary(16), 'fixed_size_binary', 'fixed_size_binary'],
  [new List(item), 'list', 'list'],
  [new FixedSizeList(4, item), 'fixed_size_list', 'fixed_size_list'],
  [new Struct([item]), 'struct', 'struct'],
  [new Map_(entries), 'map', 'map'],
]

function describeSchema(schema: Schema, dialect: 'namespace' | 'lance') {
  const read = readSchemaStream(schemaOnly(schema))
  if (read === undefined) throw new Error('no schema')
  return schemaToJson(read, dialect)
}

function toJson(type: DataType, dialect: 'namespace' | 'lance') {
  return describeSchema(new Schema([new Field('column', type, true)]), dialect).fields[0]?.type
}

describe('every type has its name in both vocabularies', () => {
  it.each(names)('%s is %s and %s', (type, namespace, lance) => {
    expect(toJson(type, 'namespace')?.type).toBe(namespace)
    expect(toJson(type, 'lance')?.type).toBe(lance)
  })
})

it('lengths, children, nullability and metadata are kept', () => {
  const metadata = new Map([['unit', 'EUR']])
  const schema = new Schema(
    [
      new Field('vector', new FixedSizeList(4, item), false, metadata),
      new Field('price', new Decimal(2, 10, 128), true),
    ],
    new Map([['owner', 'sales']]),
  )
  expect(describeSchema(schema, 'namespace')).toEqual({
    fields: [
      {
        name: 'vector',
        type: {
          type: 'fixed_size_list',
          fields: [{ name: 'item', type: { type: 'float32' }, nullable: true }],
          length: 4,
        },
        nullable: false,
        metadata: { unit: 'EUR' },
      },
      { name: 'price', type: { type: 'decimal128', length: 10_002 }, nullable: true },
    ],
    metadata: { owner: 'sales' },
  })
})
