import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ServerOptions } from 'node:https'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { UpstreamSettings } from '../../../src/config/upstream/upstream-settings.ts'
import { hasOpenssl } from '../../identity/mtls/test-certificates.ts'
import { expectError } from '../support/expect-error.ts'
import { withUpstream } from '../support/open-gateway.ts'
import { startRecordingUpstream } from '../support/recording-upstream.ts'
import { startGatewayBefore } from '../support/running-gateway.ts'
import { arrowUpload } from '../../support/arrow-upload.ts'

/** Settings of the upstream or the gateway besides the certificate. */
interface Setting {
  readonly server?: ServerOptions
  readonly upstream?: Partial<UpstreamSettings>
}

const openssl = (...words: string[]) => promisify(execFile)('openssl', words)

describe.skipIf(!hasOpenssl())('TLS to the upstream (skipped without openssl)', () => {
  let folder = ''
  const file = (name: string): string => join(folder, name)

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'certificates-'))
    await makeAuthority('own')
    await makeAuthority('foreign')
    await makeCertificate('good', 'own', 'IP:127.0.0.1')
    await makeCertificate('other-name', 'own', 'DNS:catalog.example')
    await makeCertificate('client', 'own', 'DNS:gateway.example')
    await makeCertificate('foreign-client', 'foreign', 'DNS:gateway.example')
    await makeCertificate('expired', 'own', 'IP:127.0.0.1', ['-days', '-1'])
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  async function makeAuthority(name: string): Promise<void> {
    const subject = ['-subj', `/CN=${name}`, '-addext', 'basicConstraints=critical,CA:TRUE']
    await openssl('req', '-x509', ...newKey(name), '-days', '2', ...subject, '-out', file(`${name}.pem`))
  }

  async function makeCertificate(name: string, authority: string, host: string, days = ['-days', '2']) {
    await openssl('req', ...newKey(name), '-subj', `/CN=${name}`, '-out', file(`${name}.csr`))
    await writeFile(file(`${name}.ext`), `subjectAltName=${host}\n`)
    const signer = ['-CA', file(`${authority}.pem`), '-CAkey', file(`${authority}.key`), '-CAcreateserial']
    const signed = ['-extfile', file(`${name}.ext`), '-out', file(`${name}.pem`)]
    await openssl('x509', '-req', '-in', file(`${name}.csr`), ...signer, ...days, ...signed)
  }

  function newKey(name: string): string[] {
    return ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', file(`${name}.key`)]
  }

  async function pair(certificate: string, authority?: string, more: Setting = {}) {
    const upstream = await startRecordingUpstream({
      key: await readFile(file(`${certificate}.key`)),
      cert: await readFile(file(`${certificate}.pem`)),
      ...more.server,
    })
    onTestFinished(() => upstream.close())
    const gateway = await startGatewayBefore(
      upstream.url,
      withUpstream(
        () => ({
          ...(authority !== undefined && { caFile: file(`${authority}.pem`) }),
          ...more.upstream,
        }),
        // A second failed check would open the circuit on a slow machine.
        { probeIntervalMs: 60_000 },
      ),
    )
    return { gateway, upstream }
  }

  /** An upstream that requires a client certificate, and the certificate that it gets. */
  async function mutual(shown: string | undefined) {
    const clientCertificate = shown && { certFile: file(`${shown}.pem`), keyFile: file(`${shown}.key`) }
    return pair('good', 'own', {
      server: { requestCert: true, rejectUnauthorized: true, ca: await readFile(file('own.pem')) },
      ...(clientCertificate && { upstream: { clientCertificate } }),
    })
  }

  it('accepts a certificate of a configured CA', async () => {
    const { gateway, upstream } = await pair('good', 'own')
    expect(await gateway.post('/v1/table/orders/describe')).toMatchObject({ status: 200 })
    expect(upstream.requests).toHaveLength(1)
  })

  it('sends a client certificate if it has one', async () => {
    const { gateway, upstream } = await mutual('client')
    expect(await gateway.post('/v1/table/orders/describe')).toMatchObject({ status: 200 })
    expect(upstream.requests).toHaveLength(1)
  })

  it.each([undefined, 'foreign-client'])(
    'sends no request to an upstream that requires another one (%s)',
    async (shown) => {
      const { gateway, upstream } = await mutual(shown)
      const expected = { kind: 'ServiceUnavailable', status: 502, says: 'the catalog' } as const
      expectError(await gateway.post('/v1/table/orders/describe'), expected)
      expect(upstream.requests).toEqual([])
    },
  )

  it.each<[what: string, paths: [certificate: string, key: string, authority: string], says: RegExp]>([
    [
      'a key of another certificate',
      ['client.pem', 'good.key', 'own.pem'],
      /is not that of the certificate in/,
    ],
    ['an authority that is none', ['client.pem', 'client.key', 'own.key'], /with a CERTIFICATE: .*own\.key$/],
    [
      'a certificate that is none',
      ['client.ext', 'client.key', 'own.pem'],
      /with a CERTIFICATE: .*client\.ext$/,
    ],
    ['a key that is not there', ['client.pem', 'absent.key', 'own.pem'], /^ENOENT: .*absent\.key'$/],
  ])('%s prevents the start', async (_what, [certificate, key, authority], says) => {
    const clientCertificate = { certFile: file(certificate), keyFile: file(key) }
    const upstream = { clientCertificate, caFile: file(authority) }
    await expect(pair('good', 'own', { upstream })).rejects.toThrow(says)
  })

  it.each([
    ['an unknown authority', 'good', undefined],
    ['another authority', 'good', 'foreign'],
    ['its own authority', 'own', undefined],
    ['another host', 'other-name', 'own'],
    ['the past', 'expired', 'own'],
  ])('rejects a certificate of %s, and sends nothing', async (_what, certificate, authority) => {
    const { gateway, upstream } = await pair(certificate, authority)
    const expected = { kind: 'ServiceUnavailable', status: 502, says: 'the catalog' } as const
    expectError(await gateway.post('/v1/table/orders/describe'), expected)
    expectError(await gateway.post('/v1/table/orders/insert', { body: arrowUpload }), expected)
    expect(upstream.requests).toEqual([])
  })
})
