import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer, type TLSSocket } from 'node:tls'
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest'
import {
  hasOpenssl,
  makeAuthority,
  type TestAuthority,
  type TestCertificate,
} from '../../../../test/identity/mtls/test-certificates.ts'
import { startConnectProxy } from '../../../../test/support/connect-proxy.ts'
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { call } from '../support/running-backend.ts'
import { runningProcess } from '../support/running-process.ts'
import { freshBucket } from './object-store.ts'

const credential = 'catalog:correct horse@1%'
const hidden = 'https://s3.example'

describe.skipIf(!hasOpenssl())('an object store behind a proxy (skipped without openssl)', () => {
  let folder = ''
  let company: TestAuthority

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'company-'))
    company = await makeAuthority(folder, 'company')
    await writeFile(join(folder, 'credential'), credential)
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  /** Serves the object store with TLS, under a name that only the proxy knows. */
  async function startCompany() {
    const served = await company.issue('served', 'DNS:s3.example, IP:127.0.0.1')
    const port = await startTlsFront(served, Number(new URL(inject('s3Endpoint')).port))
    const proxy = await startConnectProxy({ hosts: { 's3.example:443': port }, credential })
    const user = credential.split(':').map(encodeURIComponent).join(':')
    return { proxy, variable: proxy.url.replace('//', `//${user}@`), direct: `https://127.0.0.1:${port}` }
  }

  it('goes through the proxy of the settings, and trusts their authority', async () => {
    const { proxy } = await startCompany()
    const credentialFile = join(folder, 'credential')
    await useTable(hidden, { caFile: company.certFile, proxy: { url: proxy.url, credentialFile } }, {})
    expect(new Set(proxy.requested)).toEqual(new Set(['s3.example:443']))
  })

  it('goes through the proxy of the environment, and trusts its authority', async () => {
    const { proxy, variable } = await startCompany()
    await useTable(hidden, {}, { HTTPS_PROXY: variable, NODE_EXTRA_CA_CERTS: company.certFile })
    expect(new Set(proxy.requested)).toEqual(new Set(['s3.example:443']))
  })

  it('is reached directly at a loopback address', async () => {
    const { proxy, variable, direct } = await startCompany()
    const outbound = { caFile: company.certFile }
    await useTable(direct, outbound, { HTTPS_PROXY: variable })
    expect(proxy.requested).toEqual([])
  })
})

/** Starts a catalog without authorities of the system, as in an image, and writes and reads a table. */
async function useTable(endpoint: string, outbound: object, environment: NodeJS.ProcessEnv) {
  const { location } = await freshBucket()
  const others = {
    data: { s3: { location, endpoint } },
    store: { folder: await temporaryFolder() },
    outbound,
  }
  const { url } = await runningProcess(await temporaryFolder(), 'error', others, {
    SSL_CERT_FILE: '/nonexistent',
    SSL_CERT_DIR: '/nonexistent',
    ...environment,
  })
  const post = (target: string, body?: unknown) => call(url, 'POST', `/v1/table/${target}`, body)
  expect((await post('t/create', streamOf(orders(50)))).status).toBe(200)
  expect((await post('t/count_rows')).json).toBe(50)
  expect((await post('t/describe', { vend_credentials: true })).json).not.toHaveProperty('storage_options')
}

/** Starts a server that decrypts connections for that port; returns its own. */
async function startTlsFront({ cert, key }: TestCertificate, port: number): Promise<number> {
  const sockets = new Set<Socket>()
  const server = createServer({ cert, key }, (client: TLSSocket) => {
    const store = connect(port, '127.0.0.1')
    for (const [one, other] of [
      [client, store],
      [store, client],
    ] as const) {
      sockets.add(one)
      one.pipe(other)
      one.on('error', () => undefined).on('close', () => other.destroy())
    }
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    await once(server.close(), 'close')
  })
  return (server.address() as AddressInfo).port
}
