import { expect, it } from 'vitest'
import { expectError } from '../../gateway/support/expect-error.ts'
import { startGatewayWithRoute } from '../../gateway/support/pass-through-gateway.ts'
import { eventually } from '../../support/eventually.ts'

// 64 event streams or held requests of one caller, a stranger if anyone is allowed, used all connections of the route:
// others waited without an end.
const maxConnections = 8
const share = maxConnections / 2

it('one caller holds half of the connections, and others use the rest', async () => {
  const { gateway, application } = await startGatewayWithRoute({
    users: ['mallory'],
    route: { allow: { any: true }, maxConnections },
  })
  application.answering = ({ target }, response) => {
    if (!target.endsWith('/hold')) response.end()
  }
  const client = new AbortController()
  const held = Array.from({ length: 2 * maxConnections }, () =>
    gateway.get('/ui/hold', { as: 'mallory', signal: client.signal }).catch(() => undefined),
  )
  await eventually(() => expect(application.requests).toHaveLength(share))
  for (let sent = 0; sent < 20; sent += 1) expect(await gateway.get('/ui')).toMatchObject({ status: 200 })
  expect(application.requests).toHaveLength(share + 20)
  client.abort()
  await Promise.all(held)
  // What they held is free again.
  application.answering = (_, response) => response.end()
  expect(await gateway.get('/ui', { as: 'mallory' })).toMatchObject({ status: 200 })
})

it.each([{ any: true }, 'anyone'])('requests over the share end after a while (allow: %j)', async (allow) => {
  const { gateway, application } = await startGatewayWithRoute({
    route: { allow, maxConnections },
    tuning: { queueTimeoutMs: 50 },
  })
  const client = new AbortController()
  application.answering = () => undefined
  const held = Array.from({ length: share }, () =>
    gateway.get('/ui/hold', { signal: client.signal }).catch(() => undefined),
  )
  await eventually(() => expect(application.requests).toHaveLength(share))
  const refused = await gateway.get('/ui')
  expectError(refused, {
    kind: 'ServiceUnavailable',
    status: 503,
    says: 'no connection to the upstream is free',
  })
  expect(refused.headers['retry-after']).toBe('1')
  client.abort()
  await Promise.all(held)
})

it('requests beyond the queue are refused', async () => {
  const { gateway, application } = await startGatewayWithRoute({
    route: { maxConnections: 1 },
    tuning: { maxPendingRequests: 2 },
  })
  const client = new AbortController()
  application.answering = () => undefined
  const held = gateway.get('/ui/hold', { signal: client.signal }).catch(() => undefined)
  await eventually(() => expect(application.requests).toHaveLength(1))
  // One of them is queued, whichever arrives first.
  const sent = [1, 2].map(() => gateway.get('/ui', { signal: client.signal }))
  const refused = await Promise.race(sent)
  expectError(refused, { kind: 'ServiceUnavailable', says: 'no connection to the upstream is free' })
  client.abort()
  await Promise.allSettled([held, ...sent])
})
