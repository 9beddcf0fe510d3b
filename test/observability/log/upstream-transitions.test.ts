import { expect, it } from 'vitest'
import { respondWith } from '../../gateway/support/recording-upstream.ts'
import { linesOf, servingGateway, type ServingGateway } from '../serving-gateway.ts'
import { eventually } from '../../support/eventually.ts'

const lake = { name: 'lake' }
const transitions = new Set(['upstream unhealthy', 'upstream healthy', 'circuit opened', 'circuit closed'])

/** Each failed request may trigger a check. */
async function untilResponse(gateway: ServingGateway, text: string): Promise<void> {
  await eventually(async () =>
    expect(await (await gateway.post('/v1/table/t/describe')).text()).toContain(text),
  )
}

it('an upstream that is lost and comes back is logged once, with its name and the reason', async () => {
  const gateway = await servingGateway({}, {}, lake)
  await untilResponse(gateway, '{}')
  gateway.upstream.healthStatus = 503
  gateway.upstream.handler = respondWith(503, '')
  await untilResponse(gateway, 'circuit open')
  const checks = gateway.upstream.healthChecks.length
  // More failed checks add no lines.
  await eventually(() => expect(gateway.upstream.healthChecks.length).toBeGreaterThan(checks))
  gateway.upstream.healthStatus = 200
  gateway.upstream.handler = respondWith(200, {})
  await untilResponse(gateway, '{}')
  const lines = linesOf(await gateway.stop()).filter(({ msg }) => transitions.has(String(msg)))
  const found = lines.map(({ level, msg, upstream, reason }) => [level, msg, upstream, reason])
  // Either may be noticed first.
  expect(new Set(found.slice(0, 2))).toEqual(
    new Set([
      [40, 'upstream unhealthy', 'lake', 'status 503'],
      [40, 'circuit opened', 'lake', 'status 503'],
    ]),
  )
  expect(found.slice(2)).toEqual([
    [30, 'upstream healthy', 'lake', undefined],
    [30, 'circuit closed', 'lake', undefined],
  ])
})

it('an upstream that cannot be reached at the start is logged with the system error', async () => {
  const gateway = await servingGateway({}, {}, { ...lake, url: 'http://127.0.0.1:9' })
  await untilResponse(gateway, 'circuit open')
  const lines = linesOf(await gateway.stop()).filter(({ msg }) => transitions.has(String(msg)))
  expect(lines.map(({ msg, reason }) => [msg, reason])).toEqual([
    ['upstream unhealthy', expect.stringContaining('ECONNREFUSED')],
    ['circuit opened', expect.stringContaining('ECONNREFUSED')],
  ])
})
