import { expect, it, onTestFinished } from 'vitest'
import { openRaw } from './raw-connection.ts'
import { rawRequest } from './raw-exchange.ts'
import { answers } from './recording-upstream.ts'
import { sharedGateway } from './running-gateway.ts'
import { deferred, eventually } from './waiting.ts'

const shared = sharedGateway()

/** How many requests for that operation have been counted, each when its answer was over. */
async function counted(operation: string): Promise<number> {
  const metrics = await (await fetch(`${shared.gateway.adminUrl}/metrics`)).text()
  const series = new RegExp(`^catalog_gateway_requests_total\\{operation="${operation}".*\\} (\\d+)$`, 'gm')
  return [...metrics.matchAll(series)].reduce((sum, [, value]) => sum + Number(value), 0)
}

it('requests whose client leaves before the answers in front of theirs are counted and logged too', async () => {
  const { gateway, upstream } = shared
  const finish = deferred()
  onTestFinished(() => finish.resolve(undefined))
  upstream.answering = (...parts) => finish.promise.then(() => answers(200, {})(...parts))
  const connection = openRaw(gateway.url)
  const key = `x-api-key: ${gateway.key('dev')}`
  for (const operation of ['describe', 'drop', 'exists']) {
    connection.write(
      rawRequest([`POST /v1/table/orders/${operation} HTTP/1.1`, 'host: g', key, 'content-length: 0']),
    )
  }
  await eventually(() => expect(upstream.arrivals).toHaveLength(3))
  connection.socket.destroy()
  for (const operation of ['DescribeTable', 'DropTable', 'TableExists']) {
    if (operation === 'DropTable') finish.resolve(undefined)
    await eventually(async () => expect([operation, await counted(operation)]).toEqual([operation, 1]))
  }
})
