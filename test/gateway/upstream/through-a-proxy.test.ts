import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { sinksSchema } from '../../../src/config/audit-settings.ts'
import { passThroughSchema } from '../../../src/config/pass-through-settings.ts'
import { tracesSchema } from '../../../src/config/telemetry-settings.ts'
import { hasOpenssl, makeAuthority, type TestAuthority } from '../../identity/mtls/test-certificates.ts'
import { arrowUpload } from '../../support/arrow-upload.ts'
import { startConnectProxy } from '../../support/connect-proxy.ts'
import type { GatewaySetup } from '../support/open-gateway.ts'
import { connectToPort } from '../support/pass-through-gateway.ts'
import { respondWith } from '../support/recording-upstream.ts'
import { startGatewayBefore, startUpstream } from '../support/running-gateway.ts'
import { sharedFolder } from '../../support/temporary-folder.ts'
import { eventually } from '../../support/eventually.ts'

const credential = 'gateway:correct horse'

describe.skipIf(!hasOpenssl())('a gateway behind a proxy of its company (skipped without openssl)', () => {
  const folder = sharedFolder()
  let company: TestAuthority

  beforeAll(async () => {
    company = await makeAuthority(folder, 'company')
    await writeFile(join(folder, 'credential'), credential)
  })

  /** One server for all hosts, which only the proxy can reach. */
  async function startCompany(accepted = credential) {
    const names = ['catalog', 'console', 'siem', 'collector'].map((name) => `${name}.example`)
    const served = await company.issue('served', names.map((name) => `DNS:${name}`).join(', '))
    const server = await startUpstream(served)
    const port = Number(new URL(server.url).port)
    const hosts = Object.fromEntries(names.map((name) => [`${name}:443`, port]))
    const proxy = await startConnectProxy({ hosts, credential: accepted })
    const outbound = {
      caFile: company.certFile,
      proxy: { url: proxy.url, credentialFile: join(folder, 'credential') },
    }
    const setup: GatewaySetup = {
      settings: {
        outbound,
        passThrough: passThroughSchema.parse({
          port: 0,
          routes: [{ prefix: '/ui', upstream: 'https://console.example/console', allow: 'anyone' }],
        }),
        traces: tracesSchema.parse({ endpoint: 'https://collector.example/v1/traces' }),
        audit: {
          sinks: sinksSchema.parse([{ name: 'siem', type: 'otlp', url: 'https://siem.example/records' }]),
        },
      },
    }
    return { server, proxy, gateway: await startGatewayBefore('https://catalog.example', setup) }
  }

  it('reaches all hosts through it, and verifies their certificates', async () => {
    const { gateway, server, proxy } = await startCompany()
    const body = { location: 'x'.repeat(200_000) }
    server.handler = respondWith(200, body)
    const described = await gateway.post('/v1/table/orders/describe', { body: {} })
    expect([described.status, described.json]).toEqual([200, body])
    expect((await gateway.post('/v1/table/orders/insert', { body: arrowUpload })).status).toBe(200)
    expect((await connectToPort(gateway).get('/ui')).status).toBe(200)
    await eventually(() => {
      const targets = server.requests.map(({ target }) => target)
      for (const path of ['/console', '/records', '/v1/traces']) expect(targets).toContain(path)
    })
    expect(new Set(proxy.requested)).toEqual(
      new Set(['catalog.example:443', 'console.example:443', 'siem.example:443', 'collector.example:443']),
    )
  })

  it('responds with 502 if the proxy rejects its credential, and tells the client nothing about it', async () => {
    const { gateway, server } = await startCompany('gateway:another')
    const { status, bytes } = await gateway.post('/v1/table/orders/describe', { body: {} })
    expect(status).toBe(502)
    expect(bytes.toString()).not.toMatch(/proxy|horse|127\.0\.0\.1|Basic/)
    expect(server.requests).toEqual([])
  })
})
