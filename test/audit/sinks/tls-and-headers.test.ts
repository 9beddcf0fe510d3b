import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { gatewaySettingsSchema } from '../../../src/config/gateway-settings.ts'
import { redactSecrets } from '../../../src/config/loading/redact-secrets.ts'
import { hasOpenssl, makeAuthority } from '../../identity/mtls/test-certificates.ts'
import { anIntent } from '../audit-fixtures.ts'
import { httpSettings, openLogWithSinks } from './log-with-sinks.ts'
import { startReceiver } from './http-receiver.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { eventually } from '../../support/eventually.ts'

const isWithout = !hasOpenssl()
if (isWithout) console.warn('SKIPPED: the tests of sinks with TLS, as there is no openssl on this machine.')

/** Starts a receiver that requires a client certificate of its own authority, with the settings of a valid client. */
async function certifiedReceiver() {
  const folder = await temporaryFolder()
  const [authority, stranger] = [
    await makeAuthority(folder, 'authority'),
    await makeAuthority(folder, 'stranger'),
  ]
  const { cert, key } = await authority.issue('receiver', 'IP:127.0.0.1', { usage: 'serverAuth' })
  const { certFile, keyFile } = await authority.issue('gateway', '', { usage: 'clientAuth' })
  const receiver = await startReceiver({
    cert,
    key,
    ca: authority.cert,
    requestCert: true,
    rejectUnauthorized: true,
  })
  const trusting = { caFile: authority.certFile }
  const clientCertificate = { certFile, keyFile }
  return { folder, receiver, stranger, trusting, clientCertificate }
}

it.skipIf(isWithout).each(['http', 'otlp'])(
  'sends the client certificate that an %s receiver requires',
  async (type) => {
    const { folder, receiver, trusting, clientCertificate } = await certifiedReceiver()
    const settings = { ...httpSettings(receiver.url, { ...trusting, clientCertificate }), type }
    const { log, failures } = await openLogWithSinks(join(folder, 'log'), [settings])
    await log.recordIntent(anIntent('over TLS'))
    await eventually(() =>
      expect(
        receiver.taken.some(({ body }) => body.includes('over TLS')),
        failures.join(),
      ).toBe(true),
    )
  },
)

it.skipIf(isWithout)('sends nothing if either side is not trusted', async () => {
  const { folder, receiver, stranger, trusting, clientCertificate } = await certifiedReceiver()
  const foreign = await stranger.issue('foreign', '', { usage: 'clientAuth' })
  const sinks = [
    { ...trusting },
    { clientCertificate },
    { caFile: stranger.certFile, clientCertificate },
    { ...trusting, clientCertificate: { certFile: foreign.certFile, keyFile: foreign.keyFile } },
  ].map((tls, index) => httpSettings(receiver.url, { ...tls, name: `sink-${index}` }))
  const { log, sinks: opened, failures } = await openLogWithSinks(join(folder, 'log'), sinks)
  await log.recordIntent(anIntent('to nobody'))
  await eventually(() => expect(failures.length).toBeGreaterThan(8))
  expect(receiver.seen).toEqual([])
  for (const { status } of opened.status()) expect(status.lagRecords).toBeGreaterThan(0)
})

it.skipIf(isWithout)('rejects a mismatched certificate and key at startup', async () => {
  const { folder, receiver, trusting, stranger } = await certifiedReceiver()
  const { certFile } = await stranger.issue('other', '')
  const clientCertificate = { certFile, keyFile: stranger.keyFile }
  const settings = httpSettings(receiver.url, { ...trusting, clientCertificate })
  await expect(openLogWithSinks(join(folder, 'log'), [settings])).rejects.toThrow(
    'certificate and key of audit.sinks.',
  )
})

it.each(['http', 'otlp'])(
  'an %s receiver gets the configured headers, with the current contents of their files',
  async (type) => {
    const [folder, receiver] = [await temporaryFolder(), await startReceiver()]
    const [token, tenant] = [join(folder, 'token'), join(folder, 'tenant')]
    await writeFile(token, 'Bearer one\n')
    await writeFile(tenant, 'a\n')
    const headers = [
      { name: 'x-scope-orgid', value: 'catalogs' },
      { name: 'x-tenant', file: tenant },
    ]
    const settings = { ...httpSettings(receiver.url, { credential: { file: token }, headers }), type }
    const { log, failures } = await openLogWithSinks(join(folder, 'log'), [settings])
    const taken = async (request: string) => {
      await log.recordIntent(anIntent(request))
      return eventually(() => {
        const batch = receiver.taken.find(({ body }) => body.includes(request))
        if (batch === undefined) throw new Error(`not taken yet: ${failures.join()}`)
        return batch.headers
      })
    }
    expect(await taken('the first')).toMatchObject({
      authorization: 'Bearer one',
      'x-scope-orgid': 'catalogs',
      'x-tenant': 'a',
    })
    await writeFile(token, 'Bearer two')
    await writeFile(tenant, 'b')
    expect(await taken('the second')).toMatchObject({ authorization: 'Bearer two', 'x-tenant': 'b' })
    await rm(tenant)
    await log.recordIntent(anIntent('without a file'))
    await eventually(() => expect(failures.join()).toContain('ENOENT'))
    expect(receiver.seen.some(({ body }) => body.includes('without a file'))).toBe(false)
  },
)

it('does not print header values', () => {
  const headers = [{ name: 'x-token', value: 'what nobody may see' }]
  const settings = { audit: { sinks: [httpSettings('http://127.0.0.1/', { headers })] } }
  const printed = JSON.stringify(redactSecrets(gatewaySettingsSchema, settings))
  expect(printed).toContain('x-token')
  expect(printed).not.toContain('nobody')
})
