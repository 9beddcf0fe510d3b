import { expect, it } from 'vitest'
import { isThorough } from '../../support/thorough.ts'
import { openRawConnection } from '../support/raw-connection.ts'
import { createDeferred } from '../support/waiting.ts'
import { startApplication } from './embedded-application.ts'
import { chunkOf } from '../support/raw-request.ts'
import { arrowBytes } from '../../support/arrow-upload.ts'
import { eventually } from '../../support/eventually.ts'

const describe = '/catalog/v1/table/a/describe'

it('asks for a body only when the request is allowed', async () => {
  const { url } = await startApplication()
  const head = `POST ${describe} HTTP/1.1\r\nhost: g\r\ncontent-type: application/json\r\ncontent-length: 2\r\n`
  const denied = openRawConnection(url)
  denied.write(`${head}x-user: bob\r\nexpect: 100-continue\r\n\r\n`)
  expect(await denied.waitForEnd()).toMatch(/^HTTP\/1.1 403 /)
  const allowed = openRawConnection(url)
  allowed.write(`${head}x-user: alice\r\nexpect: 100-continue\r\n\r\n`)
  await allowed.waitFor(/^HTTP\/1.1 100 /)
  allowed.write('{}')
  await allowed.waitFor(/HTTP\/1.1 200 [^]*{}$/)
})

it('serves pipelined requests one after the other', async () => {
  const { url, upstream } = await startApplication()
  const request = `POST ${describe} HTTP/1.1\r\nhost: g\r\nx-user: alice\r\n\r\n`
  let active = 0
  upstream.handler = async (_arrival, response) => {
    active += 1
    expect(active).toBe(1)
    await new Promise(setImmediate)
    active -= 1
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  }
  const connection = openRawConnection(url)
  connection.write(request + request + request)
  await connection.waitFor(/(?:HTTP\/1.1 200 [^]*){3}{}$/)
})

it('completes active requests when the application closes', async () => {
  const { app, url, upstream } = await startApplication()
  const isForwarded = createDeferred()
  const mayRespond = createDeferred()
  upstream.handler = async (_arrival, response) => {
    isForwarded.resolve(undefined)
    await mayRespond.promise
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  }
  const responding = fetch(url + describe, { method: 'POST', headers: { 'x-user': 'alice' } })
  await isForwarded.promise
  const closing = app.close()
  mayRespond.resolve(undefined)
  expect(await (await responding).text()).toBe('{}')
  await closing
})

it('never completes an upload that its client has cancelled', async () => {
  const { url, upstream } = await startApplication()
  let upload: Promise<Buffer> | undefined
  upstream.handler = ({ body }) => void (upload = body)
  const connection = openRawConnection(url)
  connection.write(
    'POST /catalog/v1/table/a/insert HTTP/1.1\r\nhost: g\r\nx-user: alice\r\n' +
      'content-type: application/vnd.apache.arrow.stream\r\ntransfer-encoding: chunked\r\n\r\n',
  )
  connection.write(chunkOf(arrowBytes(40_000)))
  await eventually(() => expect(upload).toBeDefined())
  connection.socket.destroy()
  await expect(upload).rejects.toThrow()
})

it.runIf(isThorough)(
  'closes and counts the connection of a client that does not read its response',
  async () => {
    const { app, url, upstream } = await startApplication()
    const isAbandoned = createDeferred()
    upstream.handler = (_arrival, response) => {
      response.once('close', () => isAbandoned.resolve(undefined))
      response.end(Buffer.alloc(48 * 1024 * 1024))
    }
    const connection = openRawConnection(url)
    connection.socket.pause()
    connection.write(
      'POST /catalog/v1/table/a/query HTTP/1.1\r\nhost: g\r\nx-user: alice\r\ncontent-length: 0\r\n\r\n',
    )
    await isAbandoned.promise
    expect((await app.catalogGateway.metrics()).text).toMatch(/refusals_total\{[^}]*"send_timeout"\} 1\n/)
  },
  // Node counts the send timeout twice, as the first one finds a write that has begun.
  240_000,
)
