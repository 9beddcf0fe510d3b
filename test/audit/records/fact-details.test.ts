import fc from 'fast-check'
import { expect, it } from 'vitest'
import { formatFactDetails, parseFactDetails } from '../../../src/audit/records/fact-details.ts'
import type { Details } from '../../../src/audit/records/audit-record.ts'
import { factTypes } from '../../../src/catalog-api/facts.ts'
import { getOperation, operationNames } from '../../../src/catalog-api/operations.ts'

const text = fc.oneof(fc.string(), fc.constantFrom('main', 'x'.repeat(1024), 'x'.repeat(1025)))
const map = fc
  .dictionary(fc.string({ minLength: 1, maxLength: 9 }), text, { maxKeys: 3, noNullPrototype: true })
  .map((object) => new Map(Object.entries(object)))
const values = {
  word: fc.constantFrom('append', 'overwrite'),
  text,
  branch: text,
  tag: text,
  names: fc.array(text, { maxLength: 3 }),
  map,
  flag: fc.boolean(),
}

it.each([...operationNames])('the details of %s contain each of its facts, or that it is unknown', (name) => {
  const operation = getOperation(name)
  const facts = fc.record(
    Object.fromEntries(operation.facts.map(([fact]) => [fact, values[factTypes[fact]]])),
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(facts, (stated) => {
      const details = JSON.parse(JSON.stringify(formatFactDetails(operation, stated))) as Details
      const reported = parseFactDetails(operation, details)
      for (const [fact] of operation.facts) {
        const value = stated[fact]
        const isEmptyMap = value instanceof Map && value.size === 0
        if (reported.pendingFacts?.has(fact)) expect(value).toBeDefined()
        else if (!isEmptyMap) expect(reported.stated[fact]).toEqual(value)
      }
    }),
  )
})
