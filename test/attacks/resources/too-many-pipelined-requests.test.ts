import { expect, it, onTestFinished } from 'vitest'
import { openRawConnection } from '../../gateway/support/raw-connection.ts'
import { rawRequest } from '../../gateway/support/raw-request.ts'
import { respondWith } from '../../gateway/support/recording-upstream.ts'
import { useSharedGateway } from '../../gateway/support/running-gateway.ts'
import { createDeferred } from '../../gateway/support/waiting.ts'
import { eventually } from '../../support/eventually.ts'

// If all pipelined requests ran at once, one connection could occupy all upstream slots, and responses would wait in
// memory for the first one.
const shared = useSharedGateway()

function requests(count: number, ...last: string[]): string {
  const lines = ['GET /v1/table HTTP/1.1', 'host: g', `x-api-key: ${shared.gateway.key('dev')}`]
  return rawRequest(lines).repeat(count - 1) + rawRequest([...lines, ...last])
}

it('serves pipelined requests one after the other, in order', async () => {
  let count = 0
  let underWay = 0
  shared.upstream.handler = async (arrival, response, request) => {
    underWay += 1
    expect(underWay).toBe(1)
    await new Promise(setImmediate)
    underWay -= 1
    return respondWith(200, { tables: [String((count += 1))] })(arrival, response, request)
  }
  const connection = openRawConnection(shared.gateway.url)
  connection.write(requests(20, 'connection: close'))
  const text = await connection.waitForEnd()
  expect(text.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(20)
  expect(count).toBe(20)
})

it('serves one pipelined request at a time, and does not read the others', async () => {
  const { gateway, upstream } = shared
  const finish = createDeferred()
  onTestFinished(() => finish.resolve(undefined))
  upstream.handler = (arrival, response, request) =>
    finish.promise.then(() => respondWith(200, {})(arrival, response, request))
  const connection = openRawConnection(gateway.url)
  for (let round = 0; round < 400; round += 1) connection.write(requests(1_000))
  await eventually(() => expect(upstream.requests).toHaveLength(1))
  // Unread requests stay with the client.
  await eventually(() => expect(connection.socket.writableLength).toBeGreaterThan(1_000_000))
  expect(upstream.requests).toHaveLength(1)
})
