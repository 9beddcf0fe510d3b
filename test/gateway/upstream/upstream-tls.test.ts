import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ServerOptions } from 'node:https'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { hasOpenssl, makeAuthority } from '../../identity/mtls/test-certificates.ts'
import type { UpstreamSettings } from '../../../src/config/upstream/upstream-settings.ts'
import { expectError } from '../support/expect-error.ts'
import { withUpstream } from '../support/open-gateway.ts'
import { startRecordingUpstream } from '../support/recording-upstream.ts'
import { sharedFolder } from '../../support/temporary-folder.ts'
import { startGatewayBefore } from '../support/running-gateway.ts'
import { arrowUpload } from '../../support/arrow-upload.ts'

/** Settings of the upstream or the gateway besides the certificate. */
interface Setting {
  readonly server?: ServerOptions
  readonly upstream?: Partial<UpstreamSettings>
}

describe.skipIf(!hasOpenssl())('TLS to the upstream (skipped without openssl)', () => {
  const folder = sharedFolder()
  const file = (name: string): string => join(folder, name)

  beforeAll(async () => {
    const [own, foreign] = [await makeAuthority(folder, 'own'), await makeAuthority(folder, 'foreign')]
    await own.issue('good', 'IP:127.0.0.1')
    await own.issue('other-name', 'DNS:catalog.example')
    await own.issue('client', 'DNS:gateway.example')
    await foreign.issue('foreign-client', 'DNS:gateway.example')
    await own.issue('expired', 'IP:127.0.0.1', { days: -1 })
  })

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

  it('accepts a certificate of a configured CA, and sends a client certificate if it has one', async () => {
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
