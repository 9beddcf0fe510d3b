import fc from 'fast-check'
import { unitInterval } from '../../support/unit-interval.ts'

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
  fc.string({ unit: 'binary', maxLength: 4 }),
)

const scalar = fc.oneof(
  fc.constantFrom('0', '-0', '1e400', '-1.50E+7', '9223372036854775807', 'true', 'false', 'null', '""'),
  fc.double().map((number) => JSON.stringify(number)),
  fc.string({ unit: 'binary', maxLength: 20 }).map((text) => JSON.stringify(text)),
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
export const jsonObjects: fc.Arbitrary<Buffer> = fc
  .tuple(space, object, space)
  .map((parts) => Buffer.from(parts.join('')))

/** The same with bytes changed, removed or inserted: mostly invalid JSON. */
export const mutatedObjects: fc.Arbitrary<Buffer> = fc
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
