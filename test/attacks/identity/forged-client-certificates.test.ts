import { X509Certificate } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ListenSettings } from '../../../src/config/listen-settings.ts'
import { expectError, type ExpectedError } from '../../gateway/support/expect-error.ts'
import { allowEverything, openGateway, type TestedGateway } from '../../gateway/support/open-gateway.ts'
import { getHeaderValues, startRecordingUpstream } from '../../gateway/support/recording-upstream.ts'
import type { RecordingUpstream } from '../../gateway/support/recording-upstream.ts'
import { sendWritten } from '../../gateway/support/raw-request.ts'
import { writeCertPair, writeClientCert, writeHashPair } from '../../identity/mtls/forwarded-certificates.ts'
import {
  hasOpenssl,
  makeAuthority,
  type TestAuthority,
  type TestCertificate,
} from '../../identity/mtls/test-certificates.ts'
import { eventually } from '../../support/eventually.ts'
import { policyOf, ruleFor } from '../support/policy-templates.ts'
import { sharedFolder } from '../../support/temporary-folder.ts'

// A caller must not write the certificate that a proxy in front verifies.
const loader = 'spiffe://cluster.example/loader'

type Header = NonNullable<ListenSettings['clientCertificateFrom']>
const headers: readonly Header[] = ['client-cert', 'x-forwarded-client-cert']

const xfcc = (value: string) => `x-forwarded-client-cert: ${value}`
const sequence = (bytes: Buffer) => `client-cert: :${bytes.toString('base64')}:`

describe.skipIf(!hasOpenssl())('certificates that a proxy has verified (skipped without openssl)', () => {
  const folder = sharedFolder()
  let authority: TestAuthority
  let good: TestCertificate
  let other: TestCertificate
  let upstream: RecordingUpstream
  /** By the header, from a trusted proxy and from any other peer. */
  const gateways = new Map<string, TestedGateway>()

  beforeAll(async () => {
    authority = await makeAuthority(folder, 'own')
    good = await authority.issue('good', `URI:${loader}`, { usage: 'clientAuth' })
    other = await authority.issue('other', 'URI:spiffe://cluster.example/other', { usage: 'clientAuth' })
    upstream = await startRecordingUpstream()
    for (const header of headers) {
      gateways.set(header, await openBehind(header, '127.0.0.0/8'))
      gateways.set(`untrusted ${header}`, await openBehind(header, '192.0.2.0/24'))
    }
  })
  afterAll(async () => {
    for (const gateway of gateways.values()) await gateway.close()
    await upstream.close()
  })

  function openBehind(clientCertificateFrom: Header, trusted: string): Promise<TestedGateway> {
    return openGateway(upstream.url, {
      policies: [allowEverything, policyOf(['prod'], [ruleFor([`mesh:${loader}`])])],
      settings: {
        listen: { trustedProxies: [trusted], clientCertificateFrom },
        identity: { clientCertificates: { name: 'mesh' } },
      },
    })
  }

  async function send(name: string, lines: readonly string[]) {
    upstream.requests.length = 0
    const gateway = gateways.get(name)
    if (gateway === undefined) throw new Error(`there is no gateway ${name}`)
    const target = '/v1/table/prod$orders/drop'
    const request = { method: 'POST', target, lines: ['content-length: 0', ...lines], body: undefined }
    const response = await sendWritten(gateway.url, request)
    return { gateway, response }
  }

  async function expectRefused(header: string, lines: readonly string[], expected: ExpectedError) {
    const { response } = await send(header, lines)
    expectError(response, expected)
    expect(upstream.requests).toEqual([])
  }

  const chain = () => `Chain="${encodeURIComponent(good.cert + authority.cert)}"`
  const names = `Subject="CN=\\"a, b\\";O=c";URI=${loader};DNS=a.example;DNS=b.example`

  it.each<[what: string, header: Header, write: () => string]>([
    ['RFC 9440', 'client-cert', () => writeClientCert(good)],
    ['Cert alone', 'x-forwarded-client-cert', () => xfcc(writeCertPair(good))],
    [
      'all that Envoy can add',
      'x-forwarded-client-cert',
      () =>
        xfcc(
          `By=spiffe://cluster.example/ingress;${writeHashPair(good)};${writeCertPair(good)};${chain()};${names}`,
        ),
    ],
  ])('a trusted proxy states a certificate, which never goes upstream: %s', async (_what, header, write) => {
    const lines = [write(), 'client-cert-chain: :AAAA:']
    for (const name of headers.filter((each) => each !== header)) lines.push(`${name}: nonsense`)
    const { gateway, response } = await send(header, lines)
    expect(response).toMatchObject({ status: 200 })
    const [arrival, ...others] = upstream.requests
    if (arrival === undefined) throw new Error('Nothing reached the upstream.')
    expect(others).toEqual([])
    for (const name of [...headers, 'client-cert-chain']) expect(getHeaderValues(arrival, name)).toEqual([])
    await eventually(async () => {
      const intents = await gateway.recorded('intent')
      const principal = { name: `mesh:${loader}`, method: 'certificate' }
      const own = intents.find(({ request }) => request === response?.headers['x-request-id'])
      expect(own).toMatchObject({ principal })
    })
  })

  it.each(headers)('%s of a peer that is not a trusted proxy is ignored', async (header) => {
    const written = header === 'client-cert' ? writeClientCert(good) : xfcc(writeCertPair(good))
    const listed = [written, `connection: ${header}`]
    for (const lines of [[written], [written, written], [`${header}: nonsense`], listed]) {
      await expectRefused(`untrusted ${header}`, lines, { kind: 'Unauthenticated', says: 'no credential' })
    }
  })

  it.each<[what: string, header: Header, lines: () => readonly string[]]>([
    ['none', 'client-cert', () => []],
    ['the other header', 'client-cert', () => [xfcc(writeCertPair(good))]],
    ['the other header', 'x-forwarded-client-cert', () => [writeClientCert(good)]],
    [
      'only its chain',
      'client-cert',
      () => [writeClientCert(good).replace('client-cert', 'client-cert-chain')],
    ],
    ['underscores', 'client-cert', () => [writeClientCert(good).replace('client-cert', 'client_cert')]],
    ['underscores', 'x-forwarded-client-cert', () => [`x_forwarded_client_cert: ${writeCertPair(good)}`]],
  ])('only the header that the settings name is read: %s (%s)', async (_what, header, lines) => {
    await expectRefused(header, lines(), { kind: 'Unauthenticated', says: 'no credential' })
  })

  const der = () => new X509Certificate(good.cert).raw

  it.each<[what: string, write: () => string | readonly string[], says: string]>([
    ['repeated', () => [writeClientCert(good), writeClientCert(good)], '"client-cert" is repeated'],
    ['another one behind it', () => [writeClientCert(good), writeClientCert(other)], 'is repeated'],
    ['a list', () => `${writeClientCert(good)}, ${writeClientCert(other).slice(13)}`, 'no certificate'],
    ['empty', () => 'client-cert:', 'no certificate'],
    ['an empty sequence', () => 'client-cert: ::', 'no certificate'],
    ['without colons', () => writeClientCert(good).replaceAll(' :', ' ').slice(0, -1), 'no certificate'],
    ['with a parameter', () => `${writeClientCert(good)};a=1`, 'no certificate'],
    ['base64 that is cut short', () => `${writeClientCert(good).slice(0, -30)}:`, 'no certificate'],
    ['base64 that is cut within a group', () => `${writeClientCert(good).slice(0, -7)}:`, 'no certificate'],
    ['base64 with spaces', () => writeClientCert(good).replace('MII', 'M II'), 'no certificate'],
    ['bytes that are no certificate', () => sequence(Buffer.alloc(300, 7)), 'no certificate'],
    ['bytes behind the certificate', () => sequence(Buffer.concat([der(), Buffer.of(0)])), 'no certificate'],
    ['two certificates', () => sequence(Buffer.concat([der(), der()])), 'no certificate'],
    ['PEM', () => sequence(Buffer.from(good.cert)), 'no certificate'],
    ['too long', () => sequence(Buffer.concat([der(), Buffer.alloc(16_384)])), 'more than 16384 characters'],
  ])('client-cert of a trusted proxy is refused: %s', async (_what, write, says) => {
    await expectRefused('client-cert', [write()].flat(), { kind: 'InvalidInput', says })
  })

  it.each<[what: string, write: () => string, says: string]>([
    ['another element before it', () => `${writeCertPair(other)},${writeCertPair(good)}`, 'SANITIZE_SET'],
    ['another element behind it', () => `${writeCertPair(good)}, ${writeCertPair(other)}`, 'SANITIZE_SET'],
    ['an empty element behind it', () => `${writeCertPair(good)},`, 'SANITIZE_SET'],
    ['no Cert', () => `${writeHashPair(good)};${names}`, 'set_current_client_cert_details: cert: true'],
    ['Cert within another value', () => `Subject=";Cert=\\"x\\",";URI=x`, 'has no Cert;'],
    ['two of Cert', () => `${writeCertPair(good)};${writeCertPair(good)}`, 'several values of Cert'],
    ['two of Cert in other letters', () => `${writeCertPair(good)};cert=x`, 'several values of cert'],
    [
      'Cert in a name of another certificate, which Envoy does not quote',
      () => `${writeHashPair(other)};URI=x;${writeCertPair(good)}`,
      'a Hash of another certificate',
    ],
    [
      'Hash and Cert in a name of another certificate',
      () => `${writeHashPair(other)};URI=x;${writeHashPair(good)};${writeCertPair(good)}`,
      'several values of Hash',
    ],
    ['an open quote', () => writeCertPair(good).slice(0, -1), 'malformed element'],
    ['text behind a quote', () => `${writeCertPair(good)}x`, 'malformed element'],
    ['an empty pair', () => `${writeCertPair(good)};`, 'malformed element'],
    ['empty', () => '', 'malformed element'],
    ['an empty Cert', () => 'Cert=""', 'no certificate in Cert'],
    ['a percent sign alone', () => 'Cert="%"', 'no certificate in Cert'],
    [
      'encoded twice',
      () => `Cert="${encodeURIComponent(encodeURIComponent(good.cert))}"`,
      'no certificate in',
    ],
    ['two certificates', () => writeCertPair({ cert: other.cert + good.cert }), 'no certificate in Cert'],
    ['text before PEM', () => writeCertPair({ cert: `x\n${good.cert}` }), 'no certificate in Cert'],
    ['PEM that is cut short', () => writeCertPair({ cert: good.cert.slice(0, 200) }), 'no certificate in'],
    ['a key', () => writeCertPair({ cert: good.key }), 'no certificate in Cert'],
    ['too long', () => `${writeCertPair(good)};Chain="${'x'.repeat(16_384)}"`, 'more than 16384 characters'],
  ])('x-forwarded-client-cert of a trusted proxy is refused: %s', async (_what, write, says) => {
    await expectRefused('x-forwarded-client-cert', [xfcc(write())], { kind: 'InvalidInput', says })
  })

  it('a header that a client repeats is refused in the other form, too', async () => {
    const lines = [xfcc(writeCertPair(good)), xfcc(writeCertPair(good))]
    await expectRefused('x-forwarded-client-cert', lines, { kind: 'InvalidInput', says: 'is repeated' })
  })

  it.each(headers)('a list in Connection cannot remove %s', async (header) => {
    const written = header === 'client-cert' ? writeClientCert(good) : xfcc(writeCertPair(good))
    await expectRefused(header, [written, `connection: ${header}`], {
      kind: 'InvalidInput',
      says: `the connection header lists "${header}"`,
    })
  })

  it.each(headers)(
    'a certificate in %s that expired or names nobody is refused, and so is another caller',
    async (header) => {
      const write = (certificate: TestCertificate) =>
        header === 'client-cert' ? writeClientCert(certificate) : xfcc(writeCertPair(certificate))
      const expired = await authority.issue('expired', `URI:${loader}`, { days: -1 })
      const nobody = await authority.issue('nobody', 'DNS:loader.example')
      for (const bad of [expired, nobody])
        await expectRefused(header, [write(bad)], {
          kind: 'Unauthenticated',
          says: 'invalid client certificate',
        })
      await expectRefused(header, [write(other)], { kind: 'PermissionDenied', says: 'not allowed' })
      const { gateway, response } = await send(header, [write(good), 'x-api-key: wrong'])
      expectError(response, { kind: 'Unauthenticated', says: 'do not agree' })
      expect((await gateway.post('/v1/table/a/exists')).status).toBe(200)
    },
  )

  it('is refused for the page of another site: a browser adds it behind a proxy, too', async () => {
    const lines = [writeClientCert(good), 'sec-fetch-site: cross-site', 'origin: https://evil.example']
    await expectRefused('client-cert', lines, { kind: 'PermissionDenied', says: 'https://evil.example' })
  })
})
