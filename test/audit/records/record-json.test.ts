import fc from 'fast-check'
import { expect, it } from 'vitest'
import { idToJson, memberToJson } from '../../../src/audit/records/json-text.ts'
import { anyCharacter } from '../../support/any-character.ts'

const text = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.string({ unit: anyCharacter, maxLength: 6 }),
  fc.constantFrom('', 'orders', '"', '\\', '\n', '\u007f', '\u2028', '\ud800', 'ünï', '🜂', '__proto__'),
)
const number = fc.oneof(fc.nat(), fc.double(), fc.constant(-0))
const json = fc.jsonValue({ maxDepth: 2 })

it('writes ids and members like JSON.stringify', () => {
  fc.assert(
    fc.property(fc.array(text, { maxLength: 3 }), (id) => {
      expect(idToJson(id)).toBe(JSON.stringify(id))
    }),
  )
  fc.assert(
    fc.property(fc.oneof(text, number, json, fc.constant(undefined)), (value) => {
      expect(`{"first":0${memberToJson('name', value)}}`).toBe(JSON.stringify({ first: 0, name: value }))
    }),
  )
  expect(() => memberToJson('name', 7n)).toThrow(TypeError)
})
