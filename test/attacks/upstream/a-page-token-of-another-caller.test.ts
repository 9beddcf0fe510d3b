import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, expect, it } from 'vitest'
import { expectError } from '../../gateway/support/expect-error.ts'
import { serveListings } from '../../gateway/support/listing-upstream.ts'
import { allowEverything, type GatewaySetup } from '../../gateway/support/open-gateway.ts'
import { readPage } from '../../gateway/support/read-pages.ts'
import { startGatewayBefore, useSharedGateway } from '../../gateway/support/running-gateway.ts'
import { formatPolicies, type WrittenPolicy } from '../../policy/policy-builder.ts'
import { eventually } from '../../support/eventually.ts'
import { policyOf, ruleFor } from '../support/policy-templates.ts'

const reads = ruleFor([], ['read'], { subjects: { any: true } })
const secrets = ruleFor(['ann'], ['all'], { effect: 'deny', tables: ['secret*'] })
const policies: readonly WrittenPolicy[] = [
  allowEverything,
  policyOf(['open'], [reads, secrets]),
  policyOf(['other'], [reads]),
]
const shared = useSharedGateway({ users: ['ann', 'bob'], policies })
const names = ['a', 'b', 'secret-1', 'secret-2', 'y', 'z']
const target = '/v1/namespace/open/table/list'
const catalog = {
  tables: { open: names, other: names },
  namespaces: { open: names },
  allTables: names.map((name) => `open$${name}`),
}
const refused = { kind: 'InvalidInput', says: 'page_token' } as const

beforeEach(() => {
  shared.upstream.handler = serveListings(catalog)
})

async function tokenOf(as: string): Promise<string> {
  const { token } = await readPage(shared.gateway, `${target}?limit=2`, as)
  return token ?? ''
}

const query = (token: string): string => `limit=1&page_token=${encodeURIComponent(token)}`

it.each<[label: string, as: string, target: string]>([
  ['another principal', 'bob', target],
  ['another namespace', 'ann', '/v1/namespace/other/table/list'],
  ['another operation', 'ann', '/v1/namespace/open/list'],
  ['all tables', 'ann', '/v1/table'],
  ['other tables of the same namespace', 'ann', `${target}?include_declared=false`],
])('a token is invalid for %s', async (_label, as, otherTarget) => {
  const token = await tokenOf('ann')
  expect((await readPage(shared.gateway, `${target}?${query(token)}`, 'ann')).names).toEqual(['y'])
  const before = shared.upstream.requests.length
  const separator = otherTarget.includes('?') ? '&' : '?'
  expectError(await shared.gateway.get(otherTarget + separator + query(token), { as }), refused)
  expect(shared.upstream.requests).toHaveLength(before)
})

it('rejects a token that is modified, truncated, extended or empty', async () => {
  const token = await tokenOf('ann')
  const changed = Array.from({ length: token.length - 1 }, (_, index) => index)
    .filter((index) => index % 7 === 0)
    .map((index) => {
      const other = token[index + 1] === 'A' ? 'B' : 'A'
      return token.slice(0, index + 1) + other + token.slice(index + 2)
    })
    .filter((text) => !Buffer.from(text, 'base64url').equals(Buffer.from(token, 'base64url')))
  const others = [
    token.slice(0, -4),
    `${token}AAAA`,
    '/',
    '/AAAA',
    `/${'A'.repeat(12_000)}`,
    `${token}${token}`,
  ]
  for (const bad of [...changed, ...others]) {
    expectError(await shared.gateway.get(`${target}?${query(bad)}`, { as: 'ann' }), refused)
  }
})

it('rejects a catalog token that is not a name, and never forwards one', async () => {
  for (const bad of ['{"after":"a"}', 'a?b', 'row/1', '..', '\\', "row'"]) {
    expectError(await shared.gateway.get(`${target}?${query(bad)}`, { as: 'ann' }), refused)
  }
  await readPage(shared.gateway, `${target}?${query('row-2')}`, 'ann')
  expect(shared.upstream.requests.map(({ target }) => target).join(' ')).not.toContain('row-2')
})

it('a token reveals neither names nor catalog tokens, not even by its length', async () => {
  const readable: string[] = []
  const lengths = new Set<number>()
  for (const hidden of ['secret', `secret-${'x'.repeat(40)}`]) {
    shared.upstream.handler = serveListings({ tables: { open: ['a', hidden, 'y', 'z'] } })
    const { token = '' } = await readPage(shared.gateway, `${target}?limit=1`, 'ann')
    lengths.add(token.length)
    const plain = Buffer.from(token.slice(1), 'base64url').toString('latin1')
    readable.push(token + plain)
  }
  // Random bytes may spell a short text, but not in both tokens.
  const leaked = ['secret', 'row-', '"a"', 'open'].filter((text) =>
    readable.every((one) => one.includes(text)),
  )
  expect(leaked).toEqual([])
  expect(lengths.size).toBe(1)
})

it('the next page hides what policies have hidden since the last one', async () => {
  const token = await tokenOf('bob')
  expect((await readPage(shared.gateway, `${target}?${query(token)}`, 'bob')).names).toEqual(['secret-1'])
  const hidden = ruleFor([], ['all'], {
    effect: 'deny',
    subjects: { any: true },
    tables: ['secret*', 'b'],
  })
  const hides = policyOf(['open'], [hidden], { name: 'later' })
  await shared.gateway.replacePolicies(formatPolicies([...policies, hides]))
  await eventually(async () => {
    expect((await readPage(shared.gateway, `${target}?${query(token)}`, 'bob')).names).toEqual(['y'])
  })
  await shared.gateway.replacePolicies(formatPolicies(policies))
  await eventually(async () => {
    expect((await readPage(shared.gateway, `${target}?${query(token)}`, 'bob')).names).toEqual(['secret-1'])
  })
})

it("replicas with the same key accept each other's tokens, and others do not", async () => {
  const sharing: GatewaySetup = {
    policies,
    adjust: async (settings, folder) => {
      const tokenKeyFile = join(folder, 'token-key')
      await writeFile(tokenKeyFile, 'k'.repeat(32))
      return { ...settings, listing: { tokenKeyFile } }
    },
  }
  const [one, other, stranger] = [
    await startGatewayBefore(shared.upstream.url, sharing),
    await startGatewayBefore(shared.upstream.url, sharing),
    await startGatewayBefore(shared.upstream.url, { policies }),
  ]
  const { token = '' } = await readPage(one, `${target}?limit=2`, 'dev')
  expect((await readPage(other, `${target}?${query(token)}`, 'dev')).names).toEqual(['secret-1'])
  expectError(await stranger.get(`${target}?${query(token)}`), refused)
})
