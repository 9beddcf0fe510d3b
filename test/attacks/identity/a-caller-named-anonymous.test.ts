import { expect, it } from 'vitest'
import { sendRaw, rawRequest } from '../../gateway/support/raw-request.ts'
import { expectError } from '../../gateway/support/expect-error.ts'
import { useSharedGateway } from '../../gateway/support/running-gateway.ts'
import type { WrittenRule } from '../../policy/policy-builder.ts'
import { policyOf, ruleFor } from '../support/policy-templates.ts'

// `public` is open to callers without credentials, `club` to authenticated ones, `named` to a user named "anonymous".
const reads = (subjects: WrittenRule['subjects']) => [ruleFor([], ['read'], { subjects })]
const shared = useSharedGateway({
  policies: [
    policyOf([], reads({ users: ['dev'] })),
    policyOf(['public'], reads({ anonymous: true })),
    policyOf(['club'], reads({ any: true })),
    policyOf(['named'], reads({ users: ['anonymous'], groups: ['anonymous'], keys: ['anonymous'] })),
  ],
  settings: { identity: { anonymous: true } },
})

const describing = (namespace: string): string => `/v1/table/${namespace}$rivers/describe`

async function sent(lines: readonly string[]) {
  const head = [`POST ${describing('public')} HTTP/1.1`, 'host: gateway.example', 'connection: close']
  const responses = await sendRaw(shared.gateway.url, rawRequest([...head, ...lines]))
  expect(responses).toHaveLength(1)
  return responses[0]
}

it('a caller without credentials has anonymous permissions', async () => {
  expect(await sent([])).toMatchObject({ status: 200 })
  expect(shared.upstream.requests.splice(0)).toHaveLength(1)
})

it.each<[label: string, lines: readonly string[], status: 400 | 401]>([
  ['an empty key', ['x-api-key:'], 400],
  ['the name as a key', ['x-api-key: anonymous'], 401],
  ['two empty keys', ['x-api-key:', 'x-api-key:'], 400],
  ['an empty authorization', ['authorization:'], 400],
  ['a scheme without a token', ['authorization: Bearer'], 400],
  ['another scheme', ['authorization: Anonymous'], 401],
  ['a key in a header with underscores', ['x_api_key: anonymous'], 400],
  ['a key listed in Connection', ['connection: x-api-key'], 400],
])('%s is an invalid credential, not a missing one', async (_label, lines, status) => {
  expectError(await sent(lines), { kind: status === 400 ? 'InvalidInput' : 'Unauthenticated', says: /./ })
  expect(shared.upstream.requests).toEqual([])
})

it.each(['club', 'named'])('a caller without credentials has no permissions in %s', async (namespace) => {
  const response = await shared.gateway.post(describing(namespace), { as: null })
  expectError(response, {
    kind: 'Unauthenticated',
    says: '^no credential was sent; without a credential you are not',
  })
  expect(shared.upstream.requests).toEqual([])
})
