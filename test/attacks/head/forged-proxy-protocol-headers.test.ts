import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { expect, it, onTestFinished } from 'vitest'
import type { ListenSettings } from '../../../src/config/listen-settings.ts'
import type { ClientBounds } from '../../../src/gateway/bounds.ts'
import { ofKind, recordsOf } from '../../audit/audit-fixtures.ts'
import { countRefusals } from '../../gateway/support/count-refusals.ts'
import { allowEverything, type GatewaySetup, type TestedGateway } from '../../gateway/support/open-gateway.ts'
import { openRawConnection } from '../../gateway/support/raw-connection.ts'
import { rawRequest, sendRaw } from '../../gateway/support/raw-request.ts'
import { startGatewayAndUpstream, useSharedGateway } from '../../gateway/support/running-gateway.ts'
import { hasOpenssl, makeAuthority } from '../../identity/mtls/test-certificates.ts'
import { binaryHeader, tlv } from '../../support/proxy-protocol.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { eventually } from '../../support/eventually.ts'

// The header at the start of a connection decides the address of all its requests. Its grammar is in
// listener/proxy-headers.test.ts.
interface Changes {
  readonly listen?: Partial<ListenSettings>
  readonly limits?: object
  readonly clients?: Partial<ClientBounds>
}

/** Only clients of 203.0.113.0/24 may do anything. */
function behindProxy({ listen, limits, clients }: Changes = {}): GatewaySetup {
  const when = 'client.address.inCidr("203.0.113.0/24")'
  return {
    policies: [{ ...allowEverything, rules: allowEverything.rules.map((rule) => ({ ...rule, when })) }],
    tuning: { clients },
    adjust: (settings) => ({
      ...settings,
      limits: { ...settings.limits, ...limits },
      listen: {
        ...settings.listen,
        trustedProxies: ['127.0.0.1/32'],
        clientAddressFrom: 'proxy-protocol',
        ...listen,
      },
    }),
  }
}

const shared = useSharedGateway(behindProxy())

const startBehindProxy = async (changes: Changes): Promise<TestedGateway> =>
  (await startGatewayAndUpstream(behindProxy(changes))).gateway

const office = 'PROXY TCP4 203.0.113.7 10.0.0.1 4711 443\r\n'
const elsewhere = 'PROXY TCP4 198.51.100.9 10.0.0.1 4711 443\r\n'
const officeBytes = binaryHeader({ family: 0x11, addresses: [203, 0, 113, 7, 10, 0, 0, 1, 1, 2, 3, 4] })

function dropRequest(gateway: TestedGateway, ...lines: string[]): Buffer {
  const key = `x-api-key: ${gateway.key('dev')}`
  const head = ['POST /v1/table/a/drop HTTP/1.1', 'host: g', 'content-length: 0', 'connection: close']
  return Buffer.from(rawRequest([...head, key, ...lines]), 'latin1')
}

const bytes = (header: string | Buffer): Buffer =>
  typeof header === 'string' ? Buffer.from(header, 'latin1') : header

it.each<[string, string | Buffer, number, string | undefined]>([
  ['version 1', office, 200, '203.0.113.7'],
  ['version 1 of another network', elsewhere, 403, '198.51.100.9'],
  ['version 2', officeBytes, 200, '203.0.113.7'],
  ['no address', 'PROXY UNKNOWN\r\n', 403, 'unknown'],
  ['LOCAL', binaryHeader({ command: 0x20, family: 0, addresses: [] }), 403, '127.0.0.1'],
])('%s states the address, whatever headers of HTTP say', async (_label, header, status, client) => {
  const { gateway } = shared
  const request = dropRequest(gateway, 'x-forwarded-for: 203.0.113.1', 'forwarded: for=203.0.113.1')
  const [response] = await sendRaw(gateway.url, Buffer.concat([bytes(header), request]))
  expect(response?.status).toBe(status)
  const record = await eventually(async () => {
    const records = await recordsOf(gateway.auditFolder)
    const all = [...ofKind(records, 'intent'), ...ofKind(records, 'refusal')]
    const own = all.find((one) => one.request === response?.headers['x-request-id'])
    if (own === undefined) throw new Error('there is no record yet')
    return own
  })
  expect(record).toMatchObject({ client, ...(client !== '127.0.0.1' && { peer: '127.0.0.1' }) })
})

it('a header may arrive in single bytes', async () => {
  const { gateway } = shared
  const header = binaryHeader({
    family: 0x11,
    addresses: [...officeBytes.subarray(16)],
    rest: tlv(1, 'h2'),
  })
  async function* singly() {
    for (const byte of Buffer.concat([header, dropRequest(gateway).subarray(0, 40)])) {
      yield Buffer.from([byte])
      await pause(1)
    }
    yield dropRequest(gateway).subarray(40)
  }
  expect((await sendRaw(gateway.url, singly())).map(({ status }) => status)).toEqual([200])
})

it('a trusted proxy that sends no valid header gets no response', async () => {
  const { gateway } = shared
  const headers = [
    Buffer.alloc(0),
    bytes('PROXY TCP4 203.0.113.7 10.0.0.1 4711\r\n'),
    bytes(`PROXY TCP4 ${'203.0.113.7 '.repeat(1000)}`),
    binaryHeader({ family: 0, addresses: [], rest: tlv(1, 'x'.repeat(65_532)) }),
  ]
  for (const header of headers) {
    const connection = openRawConnection(gateway.url)
    connection.write(Buffer.concat([header, dropRequest(gateway)]))
    expect(await connection.waitForEnd()).toBe('')
  }
  expect(await countRefusals(gateway, 'proxy_protocol')).toBe(headers.length)
})

it('a second header is a malformed request', async () => {
  const { gateway } = shared
  for (const first of [office, officeBytes]) {
    for (const second of [office, officeBytes]) {
      const sent = Buffer.concat([bytes(first), bytes(second), dropRequest(gateway)])
      expect(await sendRaw(gateway.url, sent)).toMatchObject([{ status: 400 }])
    }
  }
})

it('a peer that is not trusted is refused before its header is read', async () => {
  const gateway = await startBehindProxy({ listen: { trustedProxies: ['192.0.2.0/24'] } })
  for (const header of ['', office, officeBytes]) {
    const connection = openRawConnection(gateway.url)
    connection.write(Buffer.concat([bytes(header), dropRequest(gateway)]))
    expect(await connection.waitForEnd()).toBe('')
  }
  expect(await countRefusals(gateway, 'proxy_protocol')).toBe(3)
})

it('a header is a malformed request if the settings do not expect it', async () => {
  for (const clientAddressFrom of ['x-forwarded-for', undefined] as const) {
    const gateway = await startBehindProxy({ listen: { clientAddressFrom } })
    for (const header of [office, officeBytes]) {
      const sent = Buffer.concat([bytes(header), dropRequest(gateway)])
      expect(await sendRaw(gateway.url, sent)).toMatchObject([{ status: 400 }])
    }
  }
})

it('a header that is not complete in time ends the connection', async () => {
  const gateway = await startBehindProxy({ clients: { headersTimeoutMs: 300 } })
  for (const start of ['', 'PROXY TCP4 203', officeBytes.subarray(0, 20)]) {
    const connection = openRawConnection(gateway.url)
    connection.write(start)
    expect(await connection.waitForEnd()).toBe('')
  }
})

it('connections without a header are closed in favor of new ones', async () => {
  const gateway = await startBehindProxy({ limits: { maxConnections: 2 } })
  const idle = [openRawConnection(gateway.url), openRawConnection(gateway.url)]
  await Promise.all(idle.map(({ socket }) => once(socket, 'connect')))
  const sent = Buffer.concat([bytes(office), dropRequest(gateway)])
  expect(await sendRaw(gateway.url, sent)).toMatchObject([{ status: 200 }])
  await idle[0]?.waitForEnd()
})

it.each([
  ['address', office, officeBytes],
  ['network of IPv6', 'PROXY TCP6 2001:db8::1 ::1 1 2\r\n', 'PROXY TCP6 2001:db8::2 ::1 1 2\r\n'],
])('connections are counted by the %s of the client', async (_what, first, next) => {
  const gateway = await startBehindProxy({ limits: { maxConnectionsPerAddress: 1 } })
  const held = openRawConnection(gateway.url)
  held.write(Buffer.concat([bytes(first), bytes('GET /v1/table HTTP/1.1\r\nhost: g\r\n\r\n')]))
  await held.waitFor(/^HTTP\/1\.1 401/)
  const second = openRawConnection(gateway.url)
  second.write(Buffer.concat([Buffer.from(next), dropRequest(gateway)]))
  expect(await second.waitForEnd()).toBe('')
  expect(await countRefusals(gateway, 'too_many_connections_of_client')).toBe(1)
  const sent = Buffer.concat([bytes(elsewhere), dropRequest(gateway)])
  expect(await sendRaw(gateway.url, sent)).toMatchObject([{ status: 403 }])
})

async function connectWith(url: string, header: string | Buffer): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  onTestFinished(() => void socket.destroy())
  await once(socket, 'connect')
  socket.write(header)
  return socket
}

it.skipIf(!hasOpenssl())('the header is before TLS', async () => {
  const folder = await temporaryFolder()
  const authority = await makeAuthority(folder, 'own')
  const server = await authority.issue('server', 'DNS:gateway.example')
  const tls = { certFile: server.certFile, keyFile: server.keyFile, clientAuth: 'none' as const }
  const ca = await readFile(authority.certFile)
  const gateway = await startBehindProxy({ listen: { tls } })
  for (const [header, status] of [
    [office, 200],
    [officeBytes, 200],
    [elsewhere, 403],
  ] as const) {
    const secure = connectTls({
      socket: await connectWith(gateway.url, header),
      servername: 'gateway.example',
      ca,
    })
    await once(secure, 'secureConnect')
    let received = ''
    secure.setEncoding('latin1').on('data', (text: string) => (received += text))
    secure.write(dropRequest(gateway))
    await eventually(() => expect(received).toContain(`HTTP/1.1 ${status} `))
  }
  const plain = connectTls({
    host: '127.0.0.1',
    port: Number(new URL(gateway.url).port),
    rejectUnauthorized: false,
  })
  plain.on('error', () => undefined)
  await new Promise((resolve) => plain.once('close', resolve))
  expect(await countRefusals(gateway, 'proxy_protocol')).toBe(1)
})
