import { mkdtemp, rm } from 'node:fs/promises'
import { once } from 'node:events'
import { connect } from 'node:http2'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import {
  hasOpenssl,
  makeAuthority,
  type TestAuthority,
  type TestCertificate,
} from '../../identity/mtls/test-certificates.ts'
import { expectError } from '../support/expect-error.ts'
import { startGatewayWithRoute } from '../support/pass-through-gateway.ts'
import { startRecordingUpstream } from '../support/recording-upstream.ts'

describe.skipIf(!hasOpenssl())('TLS of pass-through routes (skipped without openssl)', () => {
  let folder = ''
  let own: TestAuthority
  let foreign: TestAuthority
  let certificate: TestCertificate

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'routes-'))
    own = await makeAuthority(folder, 'own')
    foreign = await makeAuthority(folder, 'foreign')
    certificate = await own.issue('console', 'IP:127.0.0.1')
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  async function startSecureApplication(caFile: string | undefined, route: object = {}) {
    const application = await startRecordingUpstream(certificate)
    onTestFinished(() => application.close())
    const upstream = `${application.url}/console`
    const { gateway } = await startGatewayWithRoute({
      route: { upstream, ...(caFile && { caFile }), ...route },
    })
    return { gateway, application }
  }

  it('a certificate of the configured authority is accepted', async () => {
    const { gateway } = await startSecureApplication(own.certFile)
    expect((await gateway.get('/ui')).status).toBe(200)
  })

  it.each(['another authority', 'no configured authority', 'another name'])(
    'a certificate of %s is refused, and nothing is sent',
    async (what) => {
      const caFile = what === 'no configured authority' ? undefined : own.certFile
      const { gateway, application } = await startSecureApplication(
        what === 'another authority' ? foreign.certFile : caFile,
        what === 'another name' ? { serverName: 'console.example' } : {},
      )
      const refused = await gateway.get('/ui')
      expectError(refused, { kind: 'ServiceUnavailable', status: 502, says: 'could not be reached' })
      expect(application.requests).toEqual([])
    },
  )

  it('requests arrive over HTTP/2 by ALPN', async () => {
    const { certFile, keyFile } = certificate
    const { gateway, application } = await startGatewayWithRoute({
      listen: { tls: { certFile, keyFile, clientAuth: 'none' } },
    })
    const session = connect(gateway.url, { ca: own.cert })
    onTestFinished(() => session.destroy())
    application.answering = (_, response) => response.writeHead(200, { etag: '"1"' }).end('console')
    const stream = session.request({ ':path': '/ui/a', 'x-api-key': gateway.key('dev') })
    const [headers] = (await once(stream, 'response')) as [Record<string, unknown>]
    expect(headers).toMatchObject({ ':status': 200, etag: '"1"' })
    expect(await text(stream)).toBe('console')
    expect(application.requests.map(({ target }) => target)).toEqual(['/console/a'])
  })
})
