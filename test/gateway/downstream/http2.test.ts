import { once } from 'node:events'
import { connect, type ClientHttp2Session, type OutgoingHttpHeaders } from 'node:http2'
import { expect, it, onTestFinished } from 'vitest'
import type { GatewaySetup } from '../support/open-gateway.ts'
import { startGatewayAndUpstream } from '../support/running-gateway.ts'

const withH2c: GatewaySetup = {
  adjust: (settings) => ({ ...settings, listen: { ...settings.listen, h2c: true } }),
}

function openSession(url: string): ClientHttp2Session {
  const session = connect(url)
  session.on('error', () => undefined)
  onTestFinished(() => session.destroy())
  return session
}

async function send(session: ClientHttp2Session, headers: OutgoingHttpHeaders, body?: Buffer | string) {
  const stream = session.request(headers, { endStream: body === undefined })
  if (body !== undefined) stream.end(body)
  const chunks: Buffer[] = []
  stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  const [received] = await once(stream, 'response')
  await once(stream, 'close')
  return { status: received[':status'], headers: received, text: Buffer.concat(chunks).toString() }
}

it('serves requests with and without a body over one connection', async () => {
  const { gateway } = await startGatewayAndUpstream(withH2c)
  const session = openSession(gateway.url)
  const key = { 'x-api-key': gateway.key('dev') }
  const described = await send(session, { ':path': '/v1/table/a/exists', ':method': 'POST', ...key })
  expect(described).toMatchObject({ status: 200 })
  expect(await send(session, { ':path': '/v1/table/a/exists', ':method': 'POST', ...key }, '')).toMatchObject(
    { status: 200 },
  )
  const json = { ':method': 'POST', 'content-type': 'application/json', ...key }
  expect(await send(session, { ...json, ':path': '/v1/table/a/describe' }, '{}')).toMatchObject({
    status: 200,
  })
  expect(await send(session, { ':path': '/v1/table' })).toMatchObject({ status: 401 })
})
