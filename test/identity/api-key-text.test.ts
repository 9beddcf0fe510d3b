import fc from 'fast-check'
import { expect, it } from 'vitest'
import { makeApiKey, readApiKey, writeApiKey } from '../../src/identity/api-key-text.ts'

it('what is written can be read', () => {
  for (let count = 0; count < 200; count++) {
    const parts = makeApiKey()
    const text = writeApiKey(parts)
    expect(text).toMatch(/^cgk_[0-9A-Za-z]{12}_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}$/)
    expect(readApiKey(text)).toEqual(parts)
  }
})

it('a mistyped or cut key is told apart', () => {
  const text = writeApiKey({ id: 'ABCDEFGHIJKL', secret: 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQ' })
  expect(readApiKey(text)).toBeDefined()
  const edit = fc.record({
    at: fc.nat({ max: text.length - 1 }),
    removed: fc.nat({ max: 3 }),
    inserted: fc.string({ unit: fc.constantFrom('0', 'a', 'Z', '_', '-'), maxLength: 2 }),
  })
  fc.assert(
    fc.property(edit, ({ at, removed, inserted }) => {
      const changed = text.slice(0, at) + inserted + text.slice(at + removed)
      return changed === text || readApiKey(changed) === undefined
    }),
    { numRuns: 2000 },
  )
})
