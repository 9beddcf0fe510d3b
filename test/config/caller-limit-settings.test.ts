import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
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
  const { rates, byteQuotas, concurrency, failedAuthentications } = limitsSchema.parse({})
  expect({ rates, byteQuotas, concurrency, failedAuthentications }).toEqual({
    rates: [],
    byteQuotas: [],
    concurrency: [],
    failedAuthentications: undefined,
  })
})

it('the example in docs/traffic.md is valid', async () => {
  const page = await readFile(new URL('../../docs/traffic.md', import.meta.url), 'utf8')
  const [, block = ''] = /```yaml limits\n(.*?)```/s.exec(page) ?? []
  const { rates, byteQuotas, concurrency } = limitsSchema.parse((parse(block) as { limits: unknown }).limits)
  expect([rates, byteQuotas, concurrency].map(({ length }) => length)).toEqual([2, 1, 1])
})
