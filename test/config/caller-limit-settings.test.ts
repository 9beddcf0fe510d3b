import { expect, it } from 'vitest'
import { limitsSchema } from '../../src/config/listen-settings.ts'

const rate = { name: 'one', per: 'principal', perSecond: 1 } as const

it.each([
  [{ rates: [rate, rate] }, 'duplicate limit name "one"'],
  [
    { rates: [rate], concurrency: [{ ...rate, perSecond: undefined, maxRequests: 1 }] },
    'duplicate limit name "one"',
  ],
  [{ rates: [{ ...rate, operations: ['QueryTabel'] }] }, 'expected an operation, or a group of them'],
  [{ rates: [{ ...rate, operations: ['credentials'] }] }, 'expected an operation, or a group of them'],
  [{ rates: [{ ...rate, name: 'What I like' }] }, 'expected lower-case letters, digits and dashes'],
])('%j is refused: %s', (limits, message) => {
  const { error } = limitsSchema.safeParse(JSON.parse(JSON.stringify(limits)))
  expect(error?.issues.map((issue) => issue.message)).toEqual([expect.stringContaining(message)])
})

it('no per-caller limits by default', () => {
  const { rates, concurrency, failedAuthentications } = limitsSchema.parse({})
  expect({ rates, concurrency, failedAuthentications }).toEqual({
    rates: [],
    concurrency: [],
    failedAuthentications: undefined,
  })
})
