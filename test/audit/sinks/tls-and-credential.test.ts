import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { hasOpenssl, makeAuthority } from '../../identity/mtls/test-certificates.ts'
import { anIntent } from '../audit-fixtures.ts'
import { otlpSettings, openLogWithSinks } from './log-with-sinks.ts'
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

it.skipIf(isWithout)('sends the client certificate that a receiver requires', async () => {
  const { folder, receiver, trusting, clientCertificate } = await certifiedReceiver()
  const settings = otlpSettings(receiver.url, { ...trusting, clientCertificate })
  const { log, failures } = await openLogWithSinks(join(folder, 'log'), [settings])
  await log.recordIntent(anIntent('over TLS'))
  await eventually(() =>
    expect(
      receiver.taken.some(({ body }) => body.includes('over TLS')),
      failures.join(),
    ).toBe(true),
  )
})

it.skipIf(isWithout)('sends nothing if either side is not trusted', async () => {
  const { folder, receiver, stranger, trusting, clientCertificate } = await certifiedReceiver()
  const foreign = await stranger.issue('foreign', '', { usage: 'clientAuth' })
  const sinks = [
    { ...trusting },
    { clientCertificate },
    { caFile: stranger.certFile, clientCertificate },
    { ...trusting, clientCertificate: { certFile: foreign.certFile, keyFile: foreign.keyFile } },
  ].map((tls, index) => otlpSettings(receiver.url, { ...tls, name: `sink-${index}` }))
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
  const settings = otlpSettings(receiver.url, { ...trusting, clientCertificate })
  await expect(openLogWithSinks(join(folder, 'log'), [settings])).rejects.toThrow(
    'is not that of the certificate',
  )
})

it('a receiver gets the credential with the current contents of its file', async () => {
  const [folder, receiver] = [await temporaryFolder(), await startReceiver()]
  const token = join(folder, 'token')
  await writeFile(token, 'Bearer one\n')
  const settings = otlpSettings(receiver.url, { credential: { file: token } })
  const { log, failures } = await openLogWithSinks(join(folder, 'log'), [settings])
  const taken = async (request: string) => {
    await log.recordIntent(anIntent(request))
    return eventually(() => {
      const batch = receiver.taken.find(({ body }) => body.includes(request))
      if (batch === undefined) throw new Error(`not taken yet: ${failures.join()}`)
      return batch.headers
    })
  }
  expect(await taken('the first')).toMatchObject({ authorization: 'Bearer one' })
  await writeFile(token, 'Bearer two')
  expect(await taken('the second')).toMatchObject({ authorization: 'Bearer two' })
  await rm(token)
  await log.recordIntent(anIntent('without a file'))
  await eventually(() => expect(failures.join()).toContain('ENOENT'))
  expect(receiver.seen.some(({ body }) => body.includes('without a file'))).toBe(false)
})
