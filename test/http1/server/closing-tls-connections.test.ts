import { connect, type TLSSocket } from 'node:tls'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { ListenerOptions } from '../../../src/listener/listener.ts'
import { hasOpenssl, makeAuthority } from '../../identity/mtls/test-certificates.ts'
import { respondText, bodyOf, runServer } from './running-server.ts'
import { eventually } from '../../support/eventually.ts'
import { sharedFolder } from '../../support/temporary-folder.ts'

const post = 'POST / HTTP/1.1\r\nhost: g\r\ncontent-length: 3\r\n\r\n'

describe.skipIf(!hasOpenssl())('ends of TLS connections (skipped without openssl)', () => {
  const folder = sharedFolder()
  let tls: ListenerOptions['tls']
  let ca = ''

  beforeAll(async () => {
    const authority = await makeAuthority(folder, 'own')
    const { cert, key } = await authority.issue('gateway', 'IP:127.0.0.1')
    tls = {
      clientCertificate: 'none',
      context: { cert, key },
    }
    ca = authority.cert
  })

  function runEcho() {
    return runServer(
      (request, response) => {
        bodyOf(request).then(
          (body) => respondText(response, body.toString('latin1')),
          () => undefined,
        )
      },
      { tls },
    )
  }

  /** A client that leaves the other direction open when it ends its own. */
  function openTls(url: string) {
    const socket: TLSSocket = connect({ host: '127.0.0.1', port: Number(new URL(url).port), ca })
    socket.allowHalfOpen = true
    onTestFinished(() => void socket.destroy())
    const found = { socket, text: '', isEnded: false }
    socket.setEncoding('latin1').on('data', (text: string) => (found.text += text))
    socket.on('error', () => undefined).on('end', () => (found.isEnded = true))
    return found
  }

  it('sends an error to a client that ends in the middle of a body', async () => {
    const { url, server, errors } = await runEcho()
    const client = openTls(url)
    client.socket.end(`${post}ab`)
    await eventually(() => expect(client.isEnded).toBe(true))
    expect(client.text).toMatch(/^HTTP\/1\.1 400 [^]*error: incomplete_request$/)
    expect(errors).toEqual(['incomplete_request'])
    await eventually(() => expect(server.connectionCount()).toBe(0))
  })

  it('closes the connection of a client that ends after its response', async () => {
    const { url, server, errors } = await runEcho()
    const client = openTls(url)
    client.socket.write(`${post}abc`)
    await eventually(() => expect(client.text).toMatch(/abc$/))
    client.socket.end()
    await eventually(() => expect(client.isEnded).toBe(true))
    expect(client.text.match(/HTTP\/1\.1 \d/g)).toHaveLength(1)
    expect(errors).toEqual([])
    await eventually(() => expect(server.connectionCount()).toBe(0))
  })

  it('sends a large response completely before it closes the connection', async () => {
    const large = 'x'.repeat(5 * 1024 * 1024)
    const { url, server } = await runServer((_, response) => respondText(response, large), { tls })
    const client = openTls(url)
    client.socket.write('GET / HTTP/1.1\r\nconnection: close\r\n\r\n')
    await eventually(() => expect(client.isEnded).toBe(true))
    expect(client.text.length - client.text.indexOf('\r\n\r\n') - 4).toBe(large.length)
    await eventually(() => expect(server.connectionCount()).toBe(0))
  })
})
