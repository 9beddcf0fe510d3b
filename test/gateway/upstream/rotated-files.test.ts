import { copyFile, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { arrowUpload } from '../../support/arrow-upload.ts'
import { hasOpenssl, makeAuthority, type TestAuthority } from '../../identity/mtls/test-certificates.ts'
import { withUpstream } from '../support/open-gateway.ts'
import { getHeaderValues, respondWith, startRecordingUpstream } from '../support/recording-upstream.ts'
import { startGatewayAndUpstream, startGatewayBefore } from '../support/running-gateway.ts'
import { createDeferred } from '../support/waiting.ts'
import { sharedFolder, temporaryFolder } from '../../support/temporary-folder.ts'
import { eventually } from '../../support/eventually.ts'

/** A gateway with a credential file, and an upstream that accepts one credential. */
async function pairWithCredential() {
  const file = join(await temporaryFolder(), 'credential')
  await writeFile(file, 'Bearer one\n')
  const pair = await startGatewayAndUpstream(
    withUpstream(() => ({ credential: { header: 'authorization' as const, file } })),
  )
  let accepted = 'Bearer one'
  const refuse = respondWith(401, { error: 'expired', code: 16 })
  const accept = respondWith(200, {})
  pair.upstream.handler = (arrival, response, request) => {
    const isAccepted = getHeaderValues(arrival, 'authorization').join() === accepted
    return (isAccepted ? accept : refuse)(arrival, response, request)
  }
  const accepts = (credential: string): void => void (accepted = credential)
  const { gateway, upstream } = pair
  const describeTable = async () => (await gateway.post('/v1/table/orders/describe')).status
  return { gateway, upstream, file, accepts, describeTable }
}

async function readWarnings(adminUrl: string): Promise<Readonly<Record<string, string>>> {
  const report = (await (await fetch(`${adminUrl}/readyz`)).json()) as { warnings?: Record<string, string> }
  return report.warnings ?? {}
}

describe('the credential of an upstream', () => {
  it('is read again when the upstream refuses it, and the request is sent again with the new one', async () => {
    const { file, accepts, describeTable, gateway } = await pairWithCredential()
    expect(await describeTable()).toBe(200)
    await writeFile(file, 'Bearer two\n')
    accepts('Bearer two')
    expect(await describeTable()).toBe(200)
    expect((await gateway.post('/v1/table/orders/drop')).status).toBe(200)
  })

  it('is replaced while the old one still works', async () => {
    const { file, upstream, describeTable } = await pairWithCredential()
    upstream.handler = respondWith(200, {})
    await writeFile(file, 'Bearer two\n')
    await eventually(async () => {
      expect(await describeTable()).toBe(200)
      const last = upstream.requests.at(-1) ?? { rawHeaders: [] }
      expect(getHeaderValues(last, 'authorization')).toEqual(['Bearer two'])
    })
  })

  it('a refused upload is not sent again, but the next one has the new credential', async () => {
    const { file, accepts, gateway } = await pairWithCredential()
    await writeFile(file, 'Bearer two\n')
    accepts('Bearer two')
    await eventually(async () => {
      const response = await gateway.post('/v1/table/orders/insert', { body: arrowUpload })
      expect([200, 502]).toContain(response.status)
      expect(response.status).toBe(200)
    })
  })

  it.each([
    ['empty', ''],
    ['of white space', '\n\n'],
    ['of two lines', 'Bearer one\nBearer two\n'],
    ['with a character that no header has', 'Bearer ü\n'],
  ])('keeps its last value while the file is %s, and says so', async (_what, text) => {
    const { gateway, file, accepts, describeTable } = await pairWithCredential()
    await writeFile(file, text)
    await eventually(async () =>
      expect(await readWarnings(gateway.adminUrl)).toMatchObject({
        files: 'the last good values stay in use; not reloaded: upstreams.catalog.credential',
      }),
    )
    expect(await describeTable()).toBe(200)
    const metrics = await gateway.metrics()
    expect(metrics).toContain('catalog_gateway_files_outdated 1')
    await writeFile(file, 'Bearer three\n')
    accepts('Bearer three')
    expect(await describeTable()).toBe(200)
    await eventually(async () => expect(await readWarnings(gateway.adminUrl)).not.toHaveProperty('files'))
  })
})

describe.skipIf(!hasOpenssl())('the certificates for an upstream (skipped without openssl)', () => {
  const folder = sharedFolder()
  let own: TestAuthority
  let next: TestAuthority
  beforeAll(async () => {
    own = await makeAuthority(folder, 'own')
    next = await makeAuthority(folder, 'next')
    for (const name of ['old', 'new']) await own.issue(name, 'DNS:gateway.example')
    await own.issue('server', 'IP:127.0.0.1')
    await next.issue('next-server', 'IP:127.0.0.1')
  })

  it('a new client certificate is used by new connections, and the old ones are drained', async () => {
    const used = await temporaryFolder()
    const [certFile, keyFile, caFile] = ['tls.crt', 'tls.key', 'ca.crt'].map((name) => join(used, name))
    if (!certFile || !keyFile || !caFile) throw new Error('no paths')
    const show = async (name: string): Promise<void> => {
      await copyFile(join(folder, `${name}.pem`), `${certFile}.new`)
      await copyFile(join(folder, `${name}.key`), `${keyFile}.new`)
      await rename(`${keyFile}.new`, keyFile)
      await rename(`${certFile}.new`, certFile)
    }
    await show('old')
    await copyFile(own.certFile, caFile)
    const upstream = await startRecordingUpstream({
      cert: await readFile(join(folder, 'server.pem')),
      key: await readFile(join(folder, 'server.key')),
      requestCert: true,
      ca: own.cert,
    })
    onTestFinished(() => upstream.close())
    const shown: string[] = []
    let isHeld = true
    const held = createDeferred<void>()
    const respond = respondWith(200, {})
    upstream.handler = async (arrival, response, request) => {
      shown.push(String((request.socket as TLSSocket).getPeerCertificate().subject.CN))
      if (isHeld && arrival.target.includes('slow')) await held.promise
      respond(arrival, response, request)
    }
    const gateway = await startGatewayBefore(
      upstream.url,
      withUpstream(() => ({ caFile, clientCertificate: { certFile, keyFile } })),
    )
    const slow = gateway.post('/v1/table/slow/describe')
    await eventually(() => expect(shown).toEqual(['old']))
    await show('new')
    await eventually(async () => {
      expect((await gateway.post('/v1/table/orders/describe')).status).toBe(200)
      expect(shown.at(-1)).toBe('new')
    })
    isHeld = false
    held.resolve()
    expect((await slow).status).toBe(200)
    shown.length = 0
    for (let call = 0; call < 4; call += 1)
      expect((await gateway.post('/v1/table/orders/describe')).status).toBe(200)
    expect(new Set(shown)).toEqual(new Set(['new']))
  })

  it('a new authority is trusted when the upstream has one of its certificates', async () => {
    const caFile = join(await temporaryFolder(), 'ca.crt')
    await copyFile(own.certFile, caFile)
    const upstream = await startRecordingUpstream({
      cert: await readFile(join(folder, 'next-server.pem')),
      key: await readFile(join(folder, 'next-server.key')),
    })
    onTestFinished(() => upstream.close())
    const gateway = await startGatewayBefore(
      upstream.url,
      withUpstream(() => ({ caFile })),
    )
    expect((await gateway.post('/v1/table/orders/describe')).status).not.toBe(200)
    await copyFile(next.certFile, caFile)
    await eventually(async () => expect((await gateway.post('/v1/table/orders/describe')).status).toBe(200))
  })
})
