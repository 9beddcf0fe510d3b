import { once } from 'node:events'
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { expect, it, onTestFinished } from 'vitest'
import { hasOpenssl, makeAuthority, type TestAuthority } from '../../identity/mtls/test-certificates.ts'
import { arrowStart } from '../../support/arrow-upload.ts'
import { eventually } from '../../support/eventually.ts'
import type { GatewaySetup, TestedGateway } from '../support/open-gateway.ts'
import { openRawConnection } from '../support/raw-connection.ts'
import { chunkOf, keyedRequest, rawRequest } from '../support/raw-request.ts'
import { respondWith } from '../support/recording-upstream.ts'
import { startGatewayAndUpstream, useSharedGateway } from '../support/running-gateway.ts'

const setup: GatewaySetup = { users: ['reader'] }
const shared = useSharedGateway(setup)
const insert = '/v1/table/orders/insert'
const chunkBytes = 1024 * 1024
const uploadBytes = 40 * chunkBytes
const framings = ['length', 'chunks'] as const

/** Writes the whole upload before it reads, as the client of Java does. */
async function upload(
  gateway: TestedGateway,
  as: string,
  framing: (typeof framings)[number],
  ca?: string,
): Promise<string> {
  const { hostname, port } = new URL(gateway.url)
  const address = { host: hostname, port: Number(port) }
  const socket = ca === undefined ? connect(address) : connectTls({ ...address, ca })
  onTestFinished(() => void socket.destroy())
  const errors: Error[] = []
  socket.on('error', (error: Error) => errors.push(error))
  const size = framing === 'length' ? `content-length: ${uploadBytes}` : 'transfer-encoding: chunked'
  socket.write(keyedRequest(gateway, as, `POST ${insert}`, [size]))
  for (let sent = 0; sent < uploadBytes; sent += chunkBytes) {
    const chunk = Buffer.alloc(chunkBytes)
    if (sent === 0) arrowStart.copy(chunk)
    if (!socket.write(framing === 'length' ? chunk : chunkOf(chunk))) await once(socket, 'drain')
  }
  let text = ''
  socket.setEncoding('latin1').on('data', (part: string) => (text += part))
  await eventually(() => expect([text, errors]).toEqual([expect.stringMatching(/\r\n\r\n.*\}$/s), []]))
  return text
}

it.each(framings)('a client gets the refusal of an upload of 40 MB with %s', async (framing) => {
  expect(await upload(shared.gateway, 'reader', framing)).toMatch(
    /^HTTP\/1.1 403 .*InsertIntoTable.*"code":15/s,
  )
  expect(shared.upstream.requests).toEqual([])
})

it.skipIf(!hasOpenssl()).each(framings)('over TLS, it gets the refusal with %s, too', async (framing) => {
  let authority: TestAuthority | undefined
  const { gateway } = await startGatewayAndUpstream({
    ...setup,
    async adjust(settings, folder) {
      authority = await makeAuthority(folder, 'own')
      const { certFile, keyFile } = await authority.issue('gateway', 'IP:127.0.0.1')
      return { ...settings, listen: { ...settings.listen, tls: { certFile, keyFile, clientAuth: 'none' } } }
    },
  })
  const ca = authority?.cert ?? ''
  expect(await upload(gateway, 'reader', framing, ca)).toMatch(/^HTTP\/1.1 403 .*InsertIntoTable/s)
})

it('a client gets the refusal of an upstream during an upload of 40 MB', async () => {
  shared.upstream.handler = respondWith(409, { error: 'being dropped', code: 19 })
  expect(await upload(shared.gateway, 'dev', 'length')).toMatch(/^HTTP\/1.1 409 .*being dropped/s)
})

it('keeps the connection if little is left of a refused body', async () => {
  const { gateway } = shared
  const connection = openRawConnection(gateway.url)
  const head = keyedRequest(gateway, 'reader', `POST ${insert}`, ['content-length: 60000'])
  connection.write(head)
  await connection.waitFor(/^HTTP\/1.1 403 [^]*connection: keep-alive[^]*}$/)
  connection.write('x'.repeat(60_000) + head)
  await connection.waitFor(/}HTTP\/1.1 403 [^]*}$/)
})

it('closes the connection after 401 if anything is left of the body', async () => {
  const { gateway } = shared
  const connection = openRawConnection(gateway.url)
  connection.write(rawRequest([`POST ${insert} HTTP/1.1`, 'host: g', 'content-length: 1']))
  expect(await connection.waitForEnd()).toMatch(/^HTTP\/1.1 401 [^]*connection: close[^]*}$/)
})
