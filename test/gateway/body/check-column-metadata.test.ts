import {
  DenseUnion,
  Dictionary,
  Field,
  FixedSizeList,
  Int8,
  List,
  Map_,
  Schema,
  SparseUnion,
  Struct,
  Utf8,
  type DataType,
} from 'apache-arrow'
import { expect, it } from 'vitest'
import { readSchemaStream } from '../../../src/arrow/schema.ts'
import { checkSchemaMetadata } from '../../../src/gateway/body/written-metadata.ts'
import { schemaStream } from '../../support/arrow-upload.ts'

const text = new Utf8()
const plain = new Field('plain', text, true)
const entriesOf = (key: Field, value: Field): DataType =>
  new Map_(new Field('entries', new Struct<{ key: DataType; value: DataType }>([key, value]), false))

/** Types with the field among their parts. */
const nestings: Readonly<Record<string, (field: Field) => DataType>> = {
  'a struct': (field) => new Struct([plain, field]),
  'a list': (field) => new List(field),
  'a list of a fixed size': (field) => new FixedSizeList(2, field),
  'the keys of a map': (field) => entriesOf(field, plain),
  'the values of a map': (field) => entriesOf(plain, field),
  'the values of a dictionary': (field) => new Dictionary(new Struct([field]), new Int8()),
  'a dense union': (field) => new DenseUnion([0, 1], [plain, field]),
  'a sparse union': (field) => new SparseUnion([0, 1], [plain, field]),
}
const types: readonly (readonly [what: string, of: (field: Field) => DataType])[] = Object.entries(
  nestings,
).flatMap(([what, of]) => [
  [what, of] as const,
  ...Object.entries(nestings).map(
    ([inner, ofInner]) =>
      [`${inner} in ${what}`, (field: Field) => of(new Field('inner', ofInner(field), true))] as const,
  ),
])

function check(columns: readonly Field[]): readonly string[] {
  const read = readSchemaStream(schemaStream(new Schema([plain, ...columns])))
  if (read === undefined) throw new Error('the schema cannot be read')
  return checkSchemaMetadata(read, false)
}

function fieldWith(key: string, value: string): Field {
  return new Field(
    'field',
    text,
    true,
    new Map([
      ['note', 'x'],
      [key, value],
    ]),
  )
}

const extension = 'ARROW:extension:name'

it.each<[what: string, key: string, value: string, references: readonly string[]]>([
  ['a blob by its extension', extension, 'lance.blob.v2', ['lance.blob.v2']],
  ['a blob by its encoding', 'lance-encoding:blob', 'true', ['lance-encoding:blob']],
  ['an extension without references', extension, 'arrow.uuid', []],
  ['metadata of others', 'lancedb:tag:model', 'clip', []],
])('finds %s wherever a field may be', (_what, key, value, references) => {
  const field = fieldWith(key, value)
  expect(check([field])).toEqual(references)
  for (const [what, of] of types)
    expect(check([new Field('outer', of(field), true)]), what).toEqual(references)
})

it.each([
  [extension, 'nobody.knows'],
  ['mv.definition', '{}'],
])('refuses %s: %s wherever a field may be', (key, value) => {
  const field = fieldWith(key, value)
  for (const [what, of] of types)
    expect(() => check([new Field('outer', of(field), true)]), what).toThrow(/nobody\.knows|mv\.definition/)
})

it('names each reference once, in order', () => {
  const blob = fieldWith(extension, 'lance.blob.v2')
  expect(check([blob, fieldWith('lance-encoding:blob', 'true'), blob])).toEqual([
    'lance-encoding:blob',
    'lance.blob.v2',
  ])
})
