import { expect, it } from 'vitest'
import { policyOf, ruleFor } from '../../attacks/support/policy-templates.ts'
import { getOperation, operationNames } from '../../../src/catalog-api/operations.ts'
import { expectError } from '../support/expect-error.ts'
import { createMinimalRequest } from '../support/minimal-request.ts'
import { allowEverything } from '../support/open-gateway.ts'
import { respondWith } from '../support/recording-upstream.ts'
import { startGatewayAndUpstream, useSharedGateway } from '../support/running-gateway.ts'

// LanceDB 0.41 renamed operations, and members of their responses: an upstream has to see which name the client used.
const operations = operationNames.map(getOperation).filter(({ aliases }) => aliases.length > 0)
const withoutRealtime = policyOf(
  [],
  [
    ruleFor(
      ['ann'],
      operations.map(({ name }) => name),
      { effect: 'deny' },
    ),
  ],
)
const shared = useSharedGateway({ users: ['ann'], policies: [allowEverything, withoutRealtime] })

const fillPath = (path: string): string => path.replace('{id}', 'sales$orders')

it('there are operations with older names of both kinds', () => {
  expect(new Set(operations.map(({ forwardsAliases }) => forwardsAliases))).toEqual(new Set([true, false]))
})

it.each(operations)('$name has all its names at the upstream', async (operation) => {
  const { name, method, path, aliases, forwardsAliases } = operation
  const { gateway, upstream } = shared
  upstream.handler = respondWith(200, { lsm_stats: null, unknown: 1 })
  for (const [sent, received] of [
    [path, path],
    ...aliases.map((alias) => [alias, forwardsAliases ? alias : path] as const),
  ] as const) {
    for (const slash of ['', '/']) {
      const { members = {} } = createMinimalRequest(name)
      const response = await gateway.send(method, fillPath(sent) + slash, { body: members })
      expect(response).toMatchObject({ status: 200, json: { lsm_stats: null } })
      const arrivals = upstream.requests.splice(0).map(({ target }) => target)
      expect(arrivals).toEqual([fillPath(received).replace('$', '%24')])
    }
  }
})

it.each(operations)('$name is denied by each of its names', async ({ name, method, path, aliases }) => {
  const { gateway, upstream } = shared
  const { members = {} } = createMinimalRequest(name)
  for (const sent of [path, ...aliases]) {
    const response = await gateway.send(method, fillPath(sent), { as: 'ann', body: members })
    expectError(response, { kind: 'PermissionDenied', says: name })
  }
  expect(upstream.requests).toEqual([])
})

it('audit records have the one name of a change', async () => {
  const { gateway } = await startGatewayAndUpstream()
  await gateway.post('/v1/table/only/flush_lsm')
  await gateway.post('/v1/table/only/flush_rte')
  await gateway.stop()
  const intents = await gateway.recorded('intent')
  expect(intents.map(({ operation }) => operation)).toEqual(['FlushTableRte', 'FlushTableRte'])
})
