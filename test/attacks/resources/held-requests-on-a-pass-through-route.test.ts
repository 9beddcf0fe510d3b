import { expect, it } from 'vitest'
import { passThroughBounds } from '../../../src/gateway/bounds.ts'
import { expectError } from '../../gateway/support/expect-error.ts'
import { startGatewayWithRoute } from '../../gateway/support/pass-through-gateway.ts'
import { eventually } from '../../support/eventually.ts'

// Event streams or held requests of one caller, a stranger if anyone is allowed, used all connections of the route.
it('one caller holds half of the requests of a route, and others use the rest', async () => {
  const limit = passThroughBounds.maxRequests / 2
  const { port, application } = await startGatewayWithRoute({
    users: ['mallory'],
    route: { allow: { any: true } },
  })
  application.handler = ({ target }, response) => {
    if (!target.endsWith('/hold')) response.end()
  }
  const client = new AbortController()
  const held = Array.from({ length: limit }, () =>
    port.get('/ui/hold', { as: 'mallory', signal: client.signal }).catch(() => undefined),
  )
  await eventually(() => expect(application.requests).toHaveLength(limit))
  const refused = await port.get('/ui', { as: 'mallory' })
  expectError(refused, { kind: 'ServiceUnavailable', status: 503, says: 'its share' })
  for (let sent = 0; sent < 20; sent += 1) expect(await port.get('/ui')).toMatchObject({ status: 200 })
  client.abort()
  await Promise.all(held)
  // Their capacity is free again.
  await eventually(async () =>
    expect(await port.get('/ui', { as: 'mallory' })).toMatchObject({ status: 200 }),
  )
})
