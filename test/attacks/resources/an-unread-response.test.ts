import { expect, it } from 'vitest'
import { countRefusals } from '../../gateway/support/count-refusals.ts'
import { openRawConnection } from '../../gateway/support/raw-connection.ts'
import { keyedRequest } from '../../gateway/support/raw-request.ts'
import { startGatewayAndUpstream } from '../../gateway/support/running-gateway.ts'
import { createDeferred } from '../../gateway/support/waiting.ts'
import { eventually } from '../../support/eventually.ts'

// A client that requests a large response and does not read it holds its memory and connection.
const sendTimeoutMs = 300
const mebibytes = Buffer.alloc(48 * 1024 * 1024)

it('closes the connection of an unread response, even if its upstream was slow before', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream({ tuning: { clients: { sendTimeoutMs } } })
  const abandoned = createDeferred()
  upstream.handler = (_arrival, response) => {
    response.once('close', () => abandoned.resolve(undefined))
    setTimeout(() => response.end(mebibytes), 3 * sendTimeoutMs)
  }
  const connection = openRawConnection(gateway.url)
  connection.socket.pause()
  connection.write(keyedRequest(gateway, 'dev', 'POST /v1/table/o/query', ['content-length: 0']))
  await eventually(async () => expect(await countRefusals(gateway, 'send_timeout')).toBe(1))
  await abandoned.promise
  connection.socket.resume()
  await connection.waitForEnd()
  expect(connection.received().length).toBeLessThan(mebibytes.length)
})
