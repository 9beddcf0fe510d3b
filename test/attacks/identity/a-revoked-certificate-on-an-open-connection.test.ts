import { copyFile, writeFile } from 'node:fs/promises'
import { connect as connectPlain, type Socket } from 'node:net'
import { join } from 'node:path'
import { connect, type TLSSocket } from 'node:tls'
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import type { GatewaySetup } from '../../gateway/support/open-gateway.ts'
import { startGatewayAndUpstream } from '../../gateway/support/running-gateway.ts'
import { createDeferred } from '../../gateway/support/waiting.ts'
import {
  hasOpenssl,
  makeAuthority,
  type TestAuthority,
  type TestCertificate,
} from '../../identity/mtls/test-certificates.ts'
import { eventually } from '../../support/eventually.ts'
import { policyOf, ruleFor } from '../support/policy-templates.ts'
import { sharedFolder } from '../../support/temporary-folder.ts'

const loader = 'spiffe://cluster.example/loader'
const request = 'POST /v1/table/prod$orders/describe HTTP/1.1\r\nhost: g\r\ncontent-length: 0\r\n\r\n'
/** Less than the keep-alive timeout. */
const timeoutMs = 10_000

interface Client {
  readonly socket: TLSSocket
  /** Sends a request; resolves with the head of its response, or undefined if the connection ends without one. */
  ask(): Promise<string | undefined>
  readonly isClosed: () => boolean
}

const served = /^HTTP\/1\.1 200 [^]*connection: keep-alive/

/** Resolves when the connection is closed; rejects if that takes too long. */
async function closedSoon(client: Client): Promise<void> {
  const started = performance.now()
  await eventually(() => expect(client.isClosed()).toBe(true))
  expect(performance.now() - started).toBeLessThan(timeoutMs)
}

// TLS verifies a certificate once, at the start of a connection, which may last for hours.
describe.skipIf(!hasOpenssl())('a certificate that is no longer valid (skipped without openssl)', () => {
  const folder = sharedFolder()
  let own: TestAuthority
  let other: TestAuthority
  let server: TestCertificate
  let stolen: TestCertificate
  let good: TestCertificate
  const file = (name: string): string => join(folder, name)

  beforeAll(async () => {
    own = await makeAuthority(folder, 'own')
    other = await makeAuthority(folder, 'other')
    server = await own.issue('server', 'IP:127.0.0.1', { usage: 'serverAuth' })
    stolen = await own.issue('stolen', `URI:${loader}`, { usage: 'clientAuth' })
    good = await own.issue('good', `URI:${loader}`, { usage: 'clientAuth' })
  })
  beforeEach(async () => {
    await copyFile(own.certFile, file('clients.pem'))
    await writeFile(file('revoked.pem'), await own.revocationList([]))
    await copyFile(server.certFile, file('live.pem'))
    await copyFile(server.keyFile, file('live.key'))
  })

  function setup(clientCertificate: 'optional' | 'required', withList = true): GatewaySetup {
    return {
      policies: [policyOf(['prod'], [ruleFor([`mesh:${loader}`], ['read'])])],
      settings: {
        listen: {
          tls: {
            certFile: file('live.pem'),
            keyFile: file('live.key'),
            clientAuth: clientCertificate,
            clientCaFile: file('clients.pem'),
            ...(withList && { clientCrlFile: file('revoked.pem') }),
          },
        },
        identity: { clientCertificates: { name: 'mesh' } },
      },
    }
  }

  async function opened(url: string, certificate?: TestCertificate, over?: Socket): Promise<Client> {
    const { hostname, port } = new URL(url)
    const socket = connect({
      ...(over === undefined ? { host: hostname, port: Number(port) } : { socket: over }),
      ca: own.cert,
      servername: '',
      checkServerIdentity: () => undefined,
      ...(certificate && { cert: certificate.cert, key: certificate.key }),
    })
    onTestFinished(() => void socket.destroy())
    let received = ''
    let isClosed = false
    socket.setEncoding('latin1').on('data', (text: string) => (received += text))
    socket.on('error', () => undefined).on('close', () => (isClosed = true))
    return {
      socket,
      isClosed: () => isClosed,
      async ask() {
        received = ''
        if (!isClosed) socket.write(request)
        await eventually(() => {
          if (!isClosed && !/\r\n\r\n\{.*\}$/s.test(received)) throw new Error('nothing yet')
        })
        return received === '' ? undefined : received
      },
    }
  }

  it.each(['optional', 'required'] as const)(
    'closes open connections when it is revoked (%s)',
    async (mode) => {
      const { gateway, upstream } = await startGatewayAndUpstream(setup(mode))
      const [attacker, honest] = [await opened(gateway.url, stolen), await opened(gateway.url, good)]
      for (const client of [attacker, honest]) expect(await client.ask()).toMatch(served)
      await writeFile(file('revoked.pem'), await own.revocationList([stolen]))
      await closedSoon(attacker)
      expect(await attacker.ask()).toBeUndefined()
      expect(await (await opened(gateway.url, stolen)).ask()).toBeUndefined()
      expect(upstream.requests).toHaveLength(2)
      expect(await (await opened(gateway.url, good)).ask()).toMatch(served)
    },
  )

  it('closes open connections when its CA is removed', async () => {
    const { gateway, upstream } = await startGatewayAndUpstream(setup('required', false))
    const attacker = await opened(gateway.url, stolen)
    expect(await attacker.ask()).toMatch(served)
    await copyFile(other.certFile, file('clients.pem'))
    await closedSoon(attacker)
    expect(await (await opened(gateway.url, stolen)).ask()).toBeUndefined()
    expect(upstream.requests).toHaveLength(1)
  })

  it('closes the connection after the current response when it is revoked meanwhile', async () => {
    const { gateway, upstream } = await startGatewayAndUpstream(setup('required'))
    const started = createDeferred()
    const finish = createDeferred()
    upstream.handler = async (_arrival, response) => {
      started.resolve(undefined)
      await finish.promise
      response.end('{}')
    }
    const attacker = await opened(gateway.url, stolen)
    const idle = await opened(gateway.url, stolen)
    const response = attacker.ask()
    await started.promise
    await eventually(() => expect(idle.socket.readyState).toBe('open'))
    await writeFile(file('revoked.pem'), await own.revocationList([stolen]))
    await closedSoon(idle)
    attacker.socket.write(request)
    finish.resolve(undefined)
    expect(await response).toMatch(/^HTTP\/1\.1 200 [^]*connection: close/)
    await closedSoon(attacker)
    expect(upstream.requests).toHaveLength(1)
  })

  it('serves no further request when it is revoked after a response head was sent', async () => {
    const { gateway, upstream } = await startGatewayAndUpstream(setup('required'))
    const finish = createDeferred()
    upstream.handler = async (_arrival, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '2' })
      response.write('{')
      await finish.promise
      response.end('}')
    }
    const attacker = await opened(gateway.url, stolen)
    const idle = await opened(gateway.url, stolen)
    let received = ''
    attacker.socket.on('data', (text: string) => (received += text))
    attacker.socket.write(
      'POST /v1/table/prod$orders/query HTTP/1.1\r\nhost: g\r\ncontent-length: 2\r\n\r\n{}',
    )
    await eventually(() => expect(received).toMatch(/\{$/))
    await writeFile(file('revoked.pem'), await own.revocationList([stolen]))
    await closedSoon(idle)
    attacker.socket.write(request)
    finish.resolve(undefined)
    await closedSoon(attacker)
    expect(received).toMatch(/^HTTP\/1\.1 200 [^]*\{\}$/)
    expect(upstream.requests).toHaveLength(1)
  })

  it('rejects TLS on a connection that was accepted before the revocation', async () => {
    const { gateway, upstream } = await startGatewayAndUpstream(setup('required'))
    const { hostname, port } = new URL(gateway.url)
    const early = connectPlain(Number(port), hostname)
    onTestFinished(() => void early.destroy())
    early.on('error', () => undefined)
    const witness = await opened(gateway.url, good)
    expect(await witness.ask()).toMatch(served)
    await writeFile(file('revoked.pem'), await own.revocationList([stolen]))
    await closedSoon(witness)
    expect(await (await opened(gateway.url, stolen, early)).ask()).toBeUndefined()
    expect(upstream.requests).toHaveLength(1)
  })

  it('keeps connections if only the certificate of the gateway changes, or without a client certificate', async () => {
    const { gateway } = await startGatewayAndUpstream(setup('optional'))
    const [shown, without] = [await opened(gateway.url, good), await opened(gateway.url)]
    expect(await shown.ask()).toMatch(served)
    expect(await without.ask()).toMatch(/^HTTP\/1\.1 401 /)
    const renewed = await own.issue('renewed', 'IP:127.0.0.1', { usage: 'serverAuth' })
    await copyFile(renewed.keyFile, file('live.key'))
    await copyFile(renewed.certFile, file('live.pem'))
    await eventually(async () => {
      const client = await opened(gateway.url, good)
      expect(await client.ask()).toMatch(served)
      expect(client.socket.getPeerCertificate().subject.CN).toBe('renewed')
    })
    expect(await shown.ask()).toMatch(served)
    await writeFile(file('revoked.pem'), await own.revocationList([stolen]))
    await closedSoon(shown)
    expect(await without.ask()).toMatch(/^HTTP\/1\.1 401 /)
  })
})
