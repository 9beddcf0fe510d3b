import { expect, it } from 'vitest'
import { expectError } from '../../gateway/support/expect-error.ts'
import { allowEverything, type TestedGateway } from '../../gateway/support/open-gateway.ts'
import { useSharedGateway } from '../../gateway/support/running-gateway.ts'
import { policyOf, ruleFor } from '../support/policy-templates.ts'

// 100,000 names in 1.3 MB cost 95 ms of the event loop: six connections of one caller delayed all others by 0.5 s.
const shared = useSharedGateway({
  users: ['mallory'],
  policies: [allowEverything, policyOf(['sandbox'], [ruleFor(['mallory'])])],
})

const create = '/v1/namespace/sandbox/create'
const query = '/v1/table/sandbox$t/query'

function names(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`n${index}`, '']))
}

const tooMany = [
  ['names in one object', create, { properties: names(50_001) }],
  ['names in many objects', query, { k: 1, vector: [1], ...deep(50_001) }],
  ['strings in a list', query, { k: 1, vector: [1], columns: Array(50_001).fill('a') }],
  ['parts of an id', create, { id: Array(50_001).fill('') }],
] as const

function deep(count: number): object {
  return {
    full_text_query: {
      query: { boolean: { should: Array.from({ length: count }, () => ({})), must: [], must_not: [] } },
    },
  }
}

it.each(tooMany)('refuses 50,001 %s', async (_what, target, body) => {
  const refused = await shared.gateway.post(target, { as: 'mallory', body })
  expectError(refused, { kind: 'InvalidInput', status: 413, says: 'more than 50000 members and list items' })
  expect(shared.upstream.requests).toEqual([])
})

it('forwards long vectors', async () => {
  const body = { k: 1, vector: Array.from({ length: 200_000 }, () => 0.5) }
  expect(await shared.gateway.post(query, { as: 'mallory', body })).toMatchObject({ status: 200 })
})

it('reads the bodies of other callers before all bodies of one', async () => {
  const { gateway } = shared
  let finished = 0
  const body = JSON.stringify({ properties: names(40_000) })
  const attack = Array.from({ length: 24 }, async () => {
    const response = await refuse(gateway, body)
    finished += 1
    return response
  })
  await Promise.race(attack)
  const large = { properties: { note: 'x'.repeat(100_000) } }
  expect(await gateway.post(create, { body: large })).toMatchObject({ status: 200 })
  // A slice for each caller in turn: by then one caller after the other would have read nearly all.
  expect(finished).toBeLessThan(18)
  await Promise.all(attack)
  expect(finished).toBe(24)
})

async function refuse(gateway: TestedGateway, body: string): Promise<void> {
  const refused = await gateway.post(create, { as: 'mallory', body })
  expectError(refused, { kind: 'InvalidInput', status: 400, says: 'expected at most 1000' })
}
