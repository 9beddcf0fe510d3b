import { expect, it } from 'vitest'
import { healthPath } from '../../gateway/support/recording-upstream.ts'
import { linesOf, servingGateway, type ServingGateway } from '../serving-gateway.ts'
import { eventually } from '../../support/eventually.ts'

const checkedOften = {
  name: 'lake',
  healthCheck: { path: healthPath, intervalMs: 20 },
}
const transitions = new Set(['upstream unhealthy', 'upstream healthy', 'circuit opened', 'circuit closed'])

async function hasStatus(gateway: ServingGateway, status: number): Promise<void> {
  await eventually(async () => expect((await gateway.post('/v1/table/t/describe')).status).toBe(status))
}

it('an upstream that is lost and comes back is logged once, with its name and the reason', async () => {
  const gateway = await servingGateway({}, {}, checkedOften)
  await hasStatus(gateway, 200)
  gateway.upstream.healthStatus = 503
  await hasStatus(gateway, 503)
  // More failed checks add no lines.
  await new Promise((resolve) => setTimeout(resolve, 200))
  gateway.upstream.healthStatus = 200
  await hasStatus(gateway, 200)
  const lines = linesOf(await gateway.stop()).filter(({ msg }) => transitions.has(String(msg)))
  expect(lines.map(({ level, msg, upstream, reason }) => [level, msg, upstream, reason])).toEqual([
    [40, 'upstream unhealthy', 'lake', 'status 503'],
    [40, 'circuit opened', 'lake', 'status 503'],
    [30, 'upstream healthy', 'lake', undefined],
    [30, 'circuit closed', 'lake', undefined],
  ])
})

it('an upstream that cannot be reached at the start is logged with the system error', async () => {
  const gateway = await servingGateway({}, {}, { ...checkedOften, url: 'http://127.0.0.1:9' })
  await hasStatus(gateway, 503)
  const lines = linesOf(await gateway.stop()).filter(({ msg }) => transitions.has(String(msg)))
  expect(lines.map(({ msg, reason }) => [msg, reason])).toEqual([
    ['upstream unhealthy', expect.stringContaining('ECONNREFUSED')],
    ['circuit opened', expect.stringContaining('ECONNREFUSED')],
  ])
})
