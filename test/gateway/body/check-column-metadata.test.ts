import {
  DenseUnion,
  Dictionary,
  Field,
  FixedSizeList,
  Int32,
  Int8,
  List,
  Map_,
  Schema,
  SparseUnion,
  Struct,
  Utf8,
  type DataType,
} from 'apache-arrow'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { checkSchemaMetadata } from '../../../src/gateway/body/written-metadata.ts'
import { readSchemaStream } from '../../../src/arrow/schema.ts'
import { schemaStream } from '../../support/arrow-upload.ts'
import { isThorough } from '../../support/thorough.ts'

/** Fields of any shape, built while everything that their metadata means is noted in a flat list. */
type Metadata = readonly (readonly [key: string, value: string])[]

interface Noted {
  readonly field: (name: string) => Field
  readonly metadata: readonly Metadata[]
}

const name = 'ARROW:extension:name'
const entry = fc.oneof(
  fc.constantFrom(
    [name, 'lance.blob.v2'] as const,
    ['lance-encoding:blob', 'true'] as const,
    [name, 'arrow.uuid'] as const,
    [name, 'nobody.knows'] as const,
    ['mv.definition', '{}'] as const,
    ['lancedb:tag:model', 'clip'] as const,
  ),
  fc.tuple(fc.constantFrom('pandas', 'note', 'arrow', 'lancet'), fc.string()),
)
const metadata: fc.Arbitrary<Metadata> = fc.oneof(
  { weight: 6, arbitrary: fc.constant([]) },
  {
    weight: 1,
    arbitrary: fc.uniqueArray(entry, { minLength: 1, maxLength: 2, selector: ([key]) => key }),
  },
)

function note(type: DataType, own: Metadata, inner: readonly Noted[]): Noted {
  return {
    field: (name) => new Field(name, type, true, new Map(own)),
    metadata: [own, ...inner.flatMap((one) => one.metadata)],
  }
}

const { field } = fc.letrec<{ field: Noted }>((tie) => ({
  field: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    metadata.map((own) => note(new Utf8(), own, [])),
    fc
      .tuple(metadata, fc.array(tie('field'), { minLength: 1, maxLength: 3 }))
      .map(([own, inner]) => note(new Struct(inner.map((one, index) => one.field(`f${index}`))), own, inner)),
    fc.tuple(metadata, tie('field')).map(([own, item]) => note(new List(item.field('item')), own, [item])),
    fc
      .tuple(metadata, tie('field'))
      .map(([own, item]) => note(new FixedSizeList(2, item.field('item')), own, [item])),
    fc.tuple(metadata, metadata, tie('field')).map(([own, onKey, value]) => {
      const key = note(new Utf8(), onKey, [])
      const entries = new Struct<{ key: DataType; value: DataType }>([key.field('key'), value.field('value')])
      return note(new Map_(new Field('entries', entries, false)), own, [key, value])
    }),
    fc
      .tuple(metadata, tie('field'))
      .map(([own, value]) => note(new Dictionary(value.field('').type, new Int8()), own, valuesOf(value))),
    fc
      .tuple(metadata, fc.boolean(), fc.array(tie('field'), { minLength: 1, maxLength: 2 }))
      .map(([own, isDense, inner]) => {
        const children = inner.map((one, index) => one.field(`u${index}`))
        const ids = inner.map((_, index) => index)
        return note(isDense ? new DenseUnion(ids, children) : new SparseUnion(ids, children), own, inner)
      }),
  ),
}))

/** A dictionary has no field for its values: only metadata of their children is kept. */
function valuesOf({ metadata: [, ...inner] }: Noted): readonly Noted[] {
  return [note(new Int32(), inner.flat(), [])]
}

/** Slow and obvious: looks at the flat list alone. */
function expectedOf(all: readonly Metadata[]): {
  readonly references: readonly string[]
  readonly refused: boolean
} {
  const entries = all.flat()
  const references = entries.flatMap(([key, value]) => {
    if (key === 'lance-encoding:blob') return [key]
    return key === name && value === 'lance.blob.v2' ? [value] : []
  })
  const refused = entries.some(([key, value]) => key === 'mv.definition' || value === 'nobody.knows')
  return { references: [...new Set(references)].toSorted(), refused }
}

it('finds what the metadata of fields means at any depth, as a flat list of it shows', () => {
  let withReferences = 0
  fc.assert(
    fc.property(fc.array(field, { minLength: 1, maxLength: 4 }), (fields) => {
      const schema = new Schema(fields.map((one, index) => one.field(`c${index}`)))
      const read = readSchemaStream(schemaStream(schema))
      if (read === undefined) throw new Error('the schema cannot be read')
      const { references, refused } = expectedOf(fields.flatMap((one) => one.metadata))
      const check = () => checkSchemaMetadata(read, false)
      if (refused) expect(check).toThrow(/nobody\.knows|mv\.definition/)
      else expect(check()).toEqual(references)
      if (!refused && references.length > 0) withReferences += 1
    }),
    { numRuns: isThorough ? 1_000 : 65 },
  )
  expect(withReferences).toBeGreaterThan(5)
})
