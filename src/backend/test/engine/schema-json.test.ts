import {
  DateMillisecond,
  Decimal,
  Dictionary,
  Duration,
  Field,
  FixedSizeList,
  Float16,
  Float32,
  Int16,
  Schema,
  TimeMicrosecond,
  TimeUnit,
  TimestampMicrosecond,
  Uint64,
  Utf8,
} from 'apache-arrow'
import type { DataType } from 'apache-arrow'
import { describe, expect, it } from 'vitest'
import { readSchemaStream } from '../../../arrow/index.ts'
import { schemaToJson } from '../../engine/schema/schema-json.ts'
import { schemaOnly } from './sample-tables.ts'

const item = new Field('item', new Float32(), true)
/** Those whose names depend on more than the id of the type. */
const names: readonly [DataType, string, string][] = [
  [new Int16(), 'int16', 'int16'],
  [new Uint64(), 'uint64', 'uint64'],
  [new Float16(), 'float16', 'halffloat'],
  [new Utf8(), 'utf8', 'string'],
  [new DateMillisecond(), 'date64', 'date64:ms'],
  [new TimeMicrosecond(), 'time64', 'time64:us'],
  [new TimestampMicrosecond('UTC'), 'timestamp', 'timestamp:us:UTC'],
  [new Duration(TimeUnit.NANOSECOND), 'duration', 'duration:ns'],
  [new Decimal(2, 10, 128), 'decimal128', 'decimal:128:10:2'],
  [new Dictionary(new Utf8(), new Int16()), 'utf8', 'dict:string:int16:false'],
]

function describeSchema(schema: Schema, dialect: 'namespace' | 'lance') {
  const read = readSchemaStream(schemaOnly(schema))
  if (read === undefined) throw new Error('no schema')
  return schemaToJson(read, dialect)
}

function toJson(type: DataType, dialect: 'namespace' | 'lance') {
  return describeSchema(new Schema([new Field('column', type, true)]), dialect).fields[0]?.type
}

describe('a type with parameters has its name in both vocabularies', () => {
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
