import { expect, it } from 'vitest'
import { policyOf, ruleFor } from '../../attacks/support/policy-templates.ts'
import { getOperation, operationNames } from '../../../src/catalog-api/operations.ts'
import { sampleRequests } from '../../conformance/sample-requests.ts'
import { expectError } from '../support/expect-error.ts'
import { useSharedGateway } from '../support/running-gateway.ts'

const grants = operationNames.map(getOperation).filter(({ path }) => path.startsWith('/admin/authz/'))
const changes = grants.filter(({ effect }) => effect === 'change')

/** `root` may do everything that a group holds, and `ann` may change grants in addition. */
const policies = [
  policyOf([], [ruleFor(['root', 'ann'])]),
  policyOf(
    [],
    [
      ruleFor(
        ['ann'],
        changes.map(({ name }) => name),
      ),
    ],
    { name: 'grants' },
  ),
]
const shared = useSharedGateway({ users: ['root', 'ann'], policies })

it.each(grants)('$name is denied to a caller that may do everything else', async ({ name, path }) => {
  const { gateway, upstream } = shared
  const { body = {} } = sampleRequests[name] ?? {}
  const response = await gateway.post(path, { as: 'root', body: body as object })
  expectError(response, { kind: 'PermissionDenied', status: 403, says: `not allowed ${name} on the root` })
  expect(upstream.requests).toEqual([])
})

it.each(changes)(
  '$name is forwarded for a caller that a rule names, and recorded',
  async ({ name, path }) => {
    const { gateway, upstream } = shared
    upstream.requests.length = 0
    const body = sampleRequests[name]?.body as object
    expect((await gateway.post(path, { as: 'ann', body })).status).toBe(200)
    expect(upstream.requests.map(({ target }) => target)).toEqual([path])
    expect(JSON.parse(String(await upstream.requests[0]?.body))).toEqual(body)
    const intents = await gateway.recorded('intent')
    expect(intents.find(({ operation }) => operation === name)).toMatchObject({
      id: [],
      principal: { name: 'ann' },
      details: body,
    })
  },
)
