import fc from 'fast-check'
import { expect, it } from 'vitest'
import { generateApiKey, parseApiKey, formatApiKey } from '../../../src/identity/api-keys/api-key-format.ts'

it('parses a formatted key', () => {
  for (let count = 0; count < 200; count++) {
    const parts = generateApiKey()
    const text = formatApiKey(parts)
    expect(text).toMatch(/^cgk_[0-9A-Za-z]{12}_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}$/)
    expect(parseApiKey(text)).toEqual(parts)
  }
})

it('rejects a mistyped or truncated key', () => {
  const text = formatApiKey({ id: 'ABCDEFGHIJKL', secret: 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQ' })
  expect(parseApiKey(text)).toBeDefined()
  const edit = fc.record({
    at: fc.nat({ max: text.length - 1 }),
    removed: fc.nat({ max: 3 }),
    inserted: fc.string({ unit: fc.constantFrom('0', 'a', 'Z', '_', '-'), maxLength: 2 }),
  })
  fc.assert(
    fc.property(edit, ({ at, removed, inserted }) => {
      const changed = text.slice(0, at) + inserted + text.slice(at + removed)
      return changed === text || parseApiKey(changed) === undefined
    }),
    { numRuns: 500 },
  )
})
