import fc from 'fast-check'
import { expect, it } from 'vitest'
import { CatalogError } from '../../../src/catalog-api/catalog-error.ts'
import { JsonTransformer } from '../../../src/gateway/json/json-transformer.ts'
import { runAtOnce } from '../../../src/lib/index.ts'
import { isThorough } from '../../support/thorough.ts'
import { unitInterval } from '../../support/unit-interval.ts'
import { anyCharacter } from '../../support/any-character.ts'

// Compares the scanner with a slow and obvious reader that uses JSON.parse: both must accept the same texts.

/** Names with an effect, their look-alikes, and names with characters that are hard to parse. */
const name = fc.oneof(
  fc.constantFrom(
    'id',
    'identity',
    'context',
    'query',
    'branch',
    'version',
    'a',
    '',
    '__proto__',
    'ID',
    'é',
    '😀',
  ),
  fc.string({ unit: anyCharacter, maxLength: 4 }),
)

const scalar = fc.oneof(
  fc.constantFrom('0', '-0', '1e400', '-1.50E+7', '9223372036854775807', 'true', 'false', 'null', '""'),
  fc.double().map((number) => JSON.stringify(number)),
  fc.string({ unit: anyCharacter, maxLength: 20 }).map((text) => JSON.stringify(text)),
)

const space = fc.constantFrom('', '', '', ' ', '\n\t', '\r  ')

/** A name with some characters escaped: `"\u0069d"`. */
const literal = fc.tuple(name, fc.array(fc.boolean(), { maxLength: 8 })).map(([text, escapes]) => {
  const units = Array.from({ length: text.length }, (_, index) => text.charCodeAt(index))
  if (!escapes.includes(true)) return JSON.stringify(text)
  return `"${units
    .map((unit, index) =>
      escapes[index % escapes.length] === true || unit < 0x20 || unit > 0x7e || unit === 0x22 || unit === 0x5c
        ? `\\u${unit.toString(16).padStart(4, '0')}`
        : String.fromCharCode(unit),
    )
    .join('')}"`
})

const { object } = fc.letrec<{ object: string; value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar,
    fc.tuple(space, fc.array(tie('value'), { maxLength: 4 }), space).map(([before, items, after]) => {
      return `[${before}${items.join(`${after},${before}`)}]`
    }),
    tie('object'),
  ),
  object: fc
    .array(fc.tuple(space, literal, space, tie('value'), space), { maxLength: 5 })
    .map(
      (members) => `{${members.map(([a, key, b, value, c]) => `${a}${key}${b}:${b}${value}${c}`).join(',')}}`,
    ),
}))

/** Objects, some with a repeated name. */
const jsonObjects: fc.Arbitrary<Buffer> = fc
  .tuple(space, object, space)
  .map((parts) => Buffer.from(parts.join('')))

/** The same with bytes changed, removed or inserted: mostly invalid JSON. */
const mutatedObjects: fc.Arbitrary<Buffer> = fc
  .tuple(
    jsonObjects,
    fc.array(
      fc.record({
        at: unitInterval,
        removed: fc.integer({ min: 0, max: 2 }),
        added: fc.oneof(
          fc.uint8Array({ maxLength: 2 }),
          fc.constantFrom(...'{}[],:"\\0-.eEtfnu+ \u0000'.split('')).map((text) => Buffer.from(text)),
        ),
      }),
      { minLength: 1, maxLength: 3 },
    ),
  )
  .map(([bytes, mutations]) =>
    mutations.reduce((text, { at, removed, added }) => {
      const from = Math.floor(at * text.length)
      return Buffer.concat([text.subarray(0, from), added, text.subarray(from + removed)])
    }, bytes),
  )

type Json = null | boolean | number | string | Json[] | Members
interface Members extends Map<string, Json> {}

/** The members of a document, or its rejection. */
type Reading = { readonly members: Members | undefined } | 'refused'

/** Uses JSON.parse. Detects repeated names by counting their texts. */
function obviously(bytes: Buffer): Reading {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return 'refused'
  }
  if (/^[ \n\r\t]*$/.test(text)) return { members: undefined }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return 'refused'
  }
  if (value === null) return { members: undefined }
  if (typeof value !== 'object' || Array.isArray(value)) return 'refused'
  const withoutTexts = text.replaceAll(/"(?:[^"\\]|\\.)*"/gs, '""')
  const colons = withoutTexts.split(':').length - 1
  return colons === countNames(value) ? { members: asMap(value) } : 'refused'
}

function countNames(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const own = Array.isArray(value) ? 0 : Object.keys(value).length
  return Object.values(value).reduce<number>((sum, item) => sum + countNames(item), own)
}

function asMap(value: object): Members {
  return new Map(Object.entries(value) as [string, Json][])
}

/** Uses the scanner. */
function scanned(bytes: Buffer): Reading {
  const members: Members = new Map()
  const text = new JsonTransformer(bytes, {
    visitMember: () => 'value',
    visitValue(value, { name }) {
      members.set(name, JSON.parse(value) as Json)
      return undefined
    },
  })
  try {
    const isObject = runAtOnce(text.read())
    // Without removals the text is unchanged.
    if (!runAtOnce(text.write()).equals(bytes)) throw new Error('other bytes')
    return { members: isObject ? members : undefined }
  } catch (error) {
    if (error instanceof CatalogError && error.status === 400) return 'refused'
    throw error
  }
}

it.each<[what: string, documents: fc.Arbitrary<Buffer>, runs: number]>([
  ['objects', jsonObjects, isThorough ? 1_000 : 80],
  ['objects with bytes changed', mutatedObjects, isThorough ? 3_000 : 250],
])('%s are read as by JSON.parse', (_what, documents, runs) => {
  let refused = 0
  fc.assert(
    fc.property(documents, (document) => {
      const expected = obviously(document)
      if (expected === 'refused') refused += 1
      expect(scanned(document)).toEqual(expected)
    }),
    { numRuns: runs },
  )
  // Both kinds must occur, or the test would prove nothing.
  expect(refused).toBeGreaterThan(runs / 50)
  expect(refused).toBeLessThan(runs - runs / 50)
})

it.each(['null', ' null\n', '', ' ', '1', '[]'])('%j is read as by JSON.parse', (text) => {
  expect(scanned(Buffer.from(text))).toEqual(obviously(Buffer.from(text)))
})

it('any byte of a document may be changed', () => {
  const others = Buffer.concat([
    Buffer.from('{}[],:"\\09-+.eEtrufalsn \n\t\0'),
    Buffer.from([0x7f, 0x80, 0xbf, 0xc3, 0xe2, 0xf0, 0xff]),
  ])
  const sample = Buffer.from(
    '{"id":["a","é"],"\\u0069":-1.5e+3,"b":[{},[],true,null,false,0,0e1,""] ,"c":{"d":"\\n"}}',
  )
  for (let at = 0; at < sample.length; at += 1) {
    for (const byte of others) {
      const bytes = Buffer.from(sample)
      bytes[at] = byte
      expect(scanned(bytes), `${byte} at ${at}`).toEqual(obviously(bytes))
    }
  }
})

const pause = 4096

it.each<[what: string, begin: string, unit: string, end: string]>([
  ['a string', '{"a":"', 'x', '"}'],
  ['characters of several bytes', '{"a":"', '\u00e9', '"}'],
  ['escapes', '{"a":"', '\\u00e9', '"}'],
  ['a number', '{"a":1', '0', '}'],
  ['a name', '{"', 'n', '":true}'],
  ['white space', '{"a":1}', ' ', ''],
])('%s may lie over a pause of the reader', (_what, begin, unit, end) => {
  for (let before = pause - 12; before <= pause + 2; before += 1) {
    const units = unit.repeat(Math.ceil((before - begin.length) / Buffer.byteLength(unit)) + 4)
    for (const document of [begin + units + end, ' '.repeat(before) + begin + unit + end]) {
      const bytes = Buffer.from(document)
      const expected = obviously(bytes)
      expect(expected).not.toBe('refused')
      expect(scanned(bytes)).toEqual(expected)
      if (end !== '') expect(scanned(bytes.subarray(0, -1))).toBe('refused')
    }
  }
})

it.each<[what: string, document: string]>([
  ['items', `{"a":[${'1,'.repeat(5 * pause)}1]}`],
  ['a string', `{"a":"${'x'.repeat(10 * pause + 1)}"}`],
])('reading pauses once in 4 KiB of %s', (_what, document) => {
  const text = new JsonTransformer(Buffer.from(document), { visitMember: () => 'members' })
  expect([...text.read()]).toHaveLength(10)
})

it('writing pauses once in 4,096 edits', () => {
  const members = Array.from({ length: 2 * pause }, (_, index) => `"${index}":1`)
  const text = new JsonTransformer(Buffer.from(`{${members.join(',')}}`), { visitMember: () => 'removal' })
  expect(runAtOnce(text.read())).toBe(true)
  expect([...text.write()]).toHaveLength(2)
})

it.each<[what: string, says: RegExp, create: (size: number) => string]>([
  ['a name', /a name in the body is longer/, (size) => `{"${'a'.repeat(size)}":1}`],
  ['a number', /digits or spaces in a row/, (size) => `{"a":${'1'.repeat(size)}}`],
  ['white space', /digits or spaces in a row/, (size) => `{${' '.repeat(size)}}`],
])('%s has a bounded length', (_what, says, create) => {
  expect(scanned(Buffer.from(create(65_536)))).not.toBe('refused')
  const text = new JsonTransformer(Buffer.from(create(65_537)), { visitMember: () => 'nothing' })
  expect(() => runAtOnce(text.read())).toThrow(says)
})

const tenNumbers = '[1,2,3,4,5,6,7,8,9,10]'

it.each<[text: string, values: number]>([
  ['{"c":{"d":1},"e":["x",null,[],{}]}', 7],
  [`{"c":${tenNumbers}}`, 1],
  [`{"value":${tenNumbers}}`, 2],
  [`{"both":${tenNumbers}}`, 2],
  [`{"both":{"c":${tenNumbers}},"value":1,"d":${tenNumbers}}`, 5],
])(
  '%s has %i members and items, of which numbers in a list are a tenth if they are requested',
  (text, values) => {
    const read = (most: number) =>
      runAtOnce(
        new JsonTransformer(
          Buffer.from(text),
          { visitMember: ({ name }) => (name === 'value' || name === 'both' ? name : 'members') },
          'object',
          most,
        ).read(),
      )
    expect(read(values + 0.5)).toBe(true)
    expect(() => read(values - 0.5)).toThrow(`more than ${values - 0.5} members and list items`)
  },
)
