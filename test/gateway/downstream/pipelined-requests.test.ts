import { expect, it, onTestFinished } from 'vitest'
import { openRawConnection } from '../support/raw-connection.ts'
import { rawRequest } from '../support/raw-request.ts'
import { respondWith } from '../support/recording-upstream.ts'
import { useSharedGateway } from '../support/running-gateway.ts'
import { createDeferred } from '../support/waiting.ts'
import { eventually } from '../../support/eventually.ts'

const shared = useSharedGateway()

async function counted(operation: string): Promise<number> {
  const metrics = await (await fetch(`${shared.gateway.adminUrl}/metrics`)).text()
  const series = new RegExp(`^catalog_gateway_requests_total\\{operation="${operation}".*\\} (\\d+)$`, 'gm')
  return [...metrics.matchAll(series)].reduce((sum, [, value]) => sum + Number(value), 0)
}

it('counts started requests if the client disconnects, and never starts the pipelined ones', async () => {
  const { gateway, upstream } = shared
  const finish = createDeferred()
  onTestFinished(() => finish.resolve(undefined))
  upstream.answering = (...parts) => finish.promise.then(() => respondWith(200, {})(...parts))
  const connection = openRawConnection(gateway.url)
  const key = `x-api-key: ${gateway.key('dev')}`
  for (const operation of ['describe', 'drop', 'exists']) {
    connection.write(
      rawRequest([`POST /v1/table/orders/${operation} HTTP/1.1`, 'host: g', key, 'content-length: 0']),
    )
  }
  await eventually(() => expect(upstream.requests).toHaveLength(1))
  connection.socket.resetAndDestroy()
  await eventually(async () => expect(await counted('DescribeTable')).toBe(1))
  expect([await counted('DropTable'), await counted('TableExists')]).toEqual([0, 0])
  expect(upstream.requests).toHaveLength(1)
})
