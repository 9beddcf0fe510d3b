import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { expect, it, onTestFinished } from 'vitest'
import { respondText, runServer } from '../http1/server/running-server.ts'
import { hasOpenssl, makeAuthority } from '../identity/mtls/test-certificates.ts'
import { eventually } from '../support/eventually.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

async function connectFrom(localPort: number, host: string, port: number): Promise<Socket> {
  const socket = connect({ host, port, localAddress: '127.0.0.1', localPort })
  onTestFinished(() => void socket.destroy())
  await once(socket, 'connect')
  return socket
}

it.skipIf(!hasOpenssl())('the end of one connection does not affect the other one', async () => {
  const authority = await makeAuthority(await temporaryFolder(), 'own')
  const { cert, key } = await authority.issue('gateway', 'IP:127.0.0.2')
  const { url, server } = await runServer((_, response) => respondText(response, 'served'), {
    host: '0.0.0.0',
    tls: { clientCertificate: 'none', context: { cert, key } },
  })
  const port = Number(new URL(url).port)
  const first = await connectFrom(0, '127.0.0.1', port)
  const second = await connectFrom(first.localPort ?? 0, '127.0.0.2', port)
  await eventually(() => expect(server.connectionCount()).toBe(2))
  first.resetAndDestroy()
  await eventually(() => expect(server.connectionCount()).toBe(1))
  const client = connectTls({ socket: second, host: '127.0.0.2', ca: authority.cert })
  client.on('error', () => undefined).end('GET / HTTP/1.1\r\nhost: g\r\nconnection: close\r\n\r\n')
  let received = ''
  for await (const chunk of client) received += String(chunk)
  expect(received).toMatch(/served$/)
})
