import { execFile, execFileSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { expectError } from './expect-error.ts'
import { startRecordingUpstream } from './recording-upstream.ts'
import { gatewayBefore } from './running-gateway.ts'

const openssl = (...words: string[]) => promisify(execFile)('openssl', words)

function hasOpenssl(): boolean {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

describe.skipIf(!hasOpenssl())('TLS to the upstream (skipped where there is no openssl)', () => {
  let folder = ''
  const file = (name: string): string => join(folder, name)

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'certificates-'))
    await makeAuthority('own')
    await makeAuthority('foreign')
    await makeCertificate('good', 'own', 'IP:127.0.0.1')
    await makeCertificate('other-name', 'own', 'DNS:catalog.example')
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

  async function pair(certificate: string, authority?: string) {
    const upstream = await startRecordingUpstream({
      key: await readFile(file(`${certificate}.key`)),
      cert: await readFile(file(`${certificate}.pem`)),
    })
    onTestFinished(() => upstream.close())
    const gateway = await gatewayBefore(upstream.url, {
      adjust: (settings) => ({
        ...settings,
        upstream: {
          ...settings.upstream,
          ...(authority !== undefined && { certificateAuthority: file(`${authority}.pem`) }),
        },
      }),
    })
    return { gateway, upstream }
  }

  it('a certificate of an authority that is configured is accepted', async () => {
    const { gateway, upstream } = await pair('good', 'own')
    expect(await gateway.post('/v1/table/orders/describe')).toMatchObject({ status: 200 })
    expect(upstream.arrivals).toHaveLength(1)
  })

  it.each([
    ['an unknown authority', 'good', undefined],
    ['another authority', 'good', 'foreign'],
    ['its own authority', 'own', undefined],
    ['another host', 'other-name', 'own'],
    ['the past', 'expired', 'own'],
  ])('a certificate of %s is refused, and nothing is sent', async (_what, certificate, authority) => {
    const { gateway, upstream } = await pair(certificate, authority)
    const expected = { kind: 'ServiceUnavailable', status: 502, says: 'the catalog' } as const
    expectError(await gateway.post('/v1/table/orders/describe'), expected)
    expectError(await gateway.post('/v1/table/orders/insert', { body: 'ARROW' }), expected)
    expect(upstream.arrivals).toEqual([])
  })
})
