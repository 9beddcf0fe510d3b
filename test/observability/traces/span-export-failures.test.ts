import { expect, it } from 'vitest'
import type { TestedGateway } from '../../gateway/support/open-gateway.ts'
import { tracedGateway } from './traced-gateway.ts'
import { eventually } from '../../support/eventually.ts'

const exists = '/v1/table/orders/exists'
/** One of the request, one of the call. */
const spansOfARequest = 2

it('spans that the receiver refuses are dropped and counted, and requests continue', async () => {
  const { gateway, receiver } = await tracedGateway()
  receiver.status = 400
  expect(await gateway.post(exists)).toMatchObject({ status: 200 })
  await eventually(async () => expect(await dropped(gateway, 'export_failed')).toBe(spansOfARequest))
  receiver.status = 200
  expect(await gateway.post(exists)).toMatchObject({ status: 200 })
  await gateway.stop()
  expect(receiver.spans).toHaveLength(spansOfARequest)
})

it('an unresponsive receiver costs spans beyond the queue, but no request; shutdown is bounded by the timeout', async () => {
  const { gateway, receiver } = await tracedGateway(
    {},
    { tuning: { spans: { timeoutMs: 300, maxQueuedSpans: 5 } } },
  )
  receiver.status = undefined
  const responses = await Promise.all(Array.from({ length: 20 }, () => gateway.post(exists)))
  expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 200))
  // All are dropped, for either reason.
  await eventually(async () => {
    const [full, failed] = [await dropped(gateway, 'queue_full'), await dropped(gateway, 'export_failed')]
    expect([full >= 5, failed >= 5, full + failed]).toEqual([true, true, 20 * spansOfARequest])
  })
  expect(await gateway.post(exists)).toMatchObject({ status: 200 })
  await gateway.stop()
  expect(receiver.spans).toEqual([])
})

it('spans that the receiver cannot take for a while are sent again', async () => {
  const { gateway, receiver } = await tracedGateway()
  receiver.status = 503
  expect(await gateway.post(exists)).toMatchObject({ status: 200 })
  await eventually(async () => expect(receiver.bodies).toHaveLength(1))
  receiver.status = 200
  await eventually(async () => expect(receiver.spans).toHaveLength(spansOfARequest))
  expect(await dropped(gateway, 'export_failed')).toBe(0)
})

async function dropped(gateway: TestedGateway, reason: string): Promise<number> {
  const text = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
  const line = new RegExp(`^catalog_gateway_trace_spans_dropped_total{reason="${reason}"} (\\d+)$`, 'm').exec(
    text,
  )
  return Number(line?.[1] ?? 0)
}
