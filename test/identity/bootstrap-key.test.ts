import { expect, it } from 'vitest'
import { formatPolicies } from '../policy/policy-builder.ts'
import { servingGateway } from '../observability/serving-gateway.ts'

const key = 'a-key-of-more-than-thirty-two-characters'

/** A gateway whose only credential is this bootstrap key. */
function startWith(text: string) {
  const rules = [
    {
      id: 'list',
      effect: 'allow' as const,
      subjects: { groups: ['founders'] },
      operations: ['ListNamespaces'],
    },
  ]
  return servingGateway(
    { identity: { bootstrapKey: { file: 'key', principal: 'founder', groups: ['founders'] } } },
    {
      key: `${text}\n`,
      'policies/policies.yaml': formatPolicies([{ name: 'founders', namespace: [], rules }]),
    },
  )
}

it('the bootstrap key authenticates its principal and groups, without a key store', async () => {
  const { url } = await startWith(key)
  const list = async (apiKey: string, target = '/v1/namespace/$/list'): Promise<number> =>
    (await fetch(url + target, { headers: { 'x-api-key': apiKey } })).status
  expect(await list(key)).toBe(200)
  expect(await list(key, '/v1/namespace/x/table/list')).toBe(403)
  expect(await list(`${key}x`)).toBe(401)
})

it('a bootstrap key that can be guessed is refused, and not printed', async () => {
  const error = await startWith('short-key').catch(String)
  expect(error).toContain('key: expected a key of 32 to 256 printable characters without spaces')
  expect(error).not.toContain('short-key')
})
