import { describe, expect, it } from 'vitest'
import { editResponse } from '../../../src/gateway/upstream/edit-response.ts'
import { runAtOnce } from '../../../src/lib/async/run-in-slices.ts'
import { expectLinearCost, processorMsOf } from '../../support/cost-growth.ts'

const withheld = {
  withholdsCredentials: true,
  form: undefined,
  omitted: [],
  mayBeText: false,
  replacedId: undefined,
  database: [],
}

function metadataOf(names: number, name: string): Buffer {
  const members = Array.from({ length: names }, (_, index) => [`${name}_${index}`, 'x'])
  return Buffer.from(JSON.stringify({ metadata: Object.fromEntries(members) }))
}

/** Returns the milliseconds of processor time of the longest piece of work. */
async function longestStep(body: Buffer): Promise<number> {
  const steps = editResponse(body, withheld)
  const state = { isDone: false, longest: 0 }
  while (!state.isDone) {
    const cost = await processorMsOf(() => (state.isDone = steps.next().done === true))
    state.longest = Math.max(state.longest, cost)
  }
  return state.longest
}

describe('a response with very many members', () => {
  it('loses as many of them as it has in linear time', async () => {
    await expectLinearCost(10_000, (size) => {
      const body = metadataOf(size, 'session_token')
      return () => expect(String(runAtOnce(editResponse(body, withheld)))).toBe('{"metadata":{}}')
    })
  })

  it('keeps them in linear time', async () => {
    await expectLinearCost(20_000, (size) => {
      const body = metadataOf(size, 'harmless')
      return () => expect(runAtOnce(editResponse(body, withheld))).toBe(body)
    })
  })

  it.each(['session_token', 'harmless'])('is read in pieces that do not grow with it: %s', async (name) => {
    await longestStep(metadataOf(1_000, name))
    expect(await longestStep(metadataOf(60_000, name))).toBeLessThan(200)
  })
})

it('finds a name that is longer than a piece', () => {
  const name = `session${'_'.repeat(20_000)}token`
  const body = Buffer.from(JSON.stringify({ a: 'b'.repeat(16_370), [name]: 'x', c: 1 }))
  expect(JSON.parse(String(runAtOnce(editResponse(body, withheld))))).toEqual({ a: 'b'.repeat(16_370), c: 1 })
})

it.each([16_370, 16_375, 16_380, 16_383, 16_384, 16_390])(
  'finds a name across the end of a piece, behind a text of %i bytes',
  (length) => {
    const body = Buffer.from(JSON.stringify({ a: 'b'.repeat(length), session_token: 'x' }))
    expect(JSON.parse(String(runAtOnce(editResponse(body, withheld))))).toEqual({ a: 'b'.repeat(length) })
  },
)
