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

/** Starts a receiver that requires a client certificate of its own authority, with the settings of a valid client. */
async function certifiedReceiver() {
  const folder = await temporaryFolder()
  const authority = await makeAuthority(folder, 'authority')
  const { cert, key } = await authority.issue('receiver', 'IP:127.0.0.1', { usage: 'serverAuth' })
  const { certFile, keyFile } = await authority.issue('gateway', '', { usage: 'clientAuth' })
  const receiver = await startReceiver({
    cert,
    key,
    ca: authority.cert,
    requestCert: true,
    rejectUnauthorized: true,
  })
  return {
    folder,
    receiver,
    trusting: { caFile: authority.certFile },
    clientCertificate: { certFile, keyFile },
  }
}

it.skipIf(isWithout)('sends the client certificate that a receiver requires, if it trusts it', async () => {
  const { folder, receiver, trusting, clientCertificate } = await certifiedReceiver()
  const open = (name: string, tls: object) =>
    openLogWithSinks(join(folder, name), [otlpSettings(receiver.url, tls)])
  for (const [name, tls] of Object.entries({ untrusting: { clientCertificate }, uncertified: trusting })) {
    const { log, failures } = await open(name, tls)
    await log.recordIntent(anIntent('to nobody'))
    await eventually(() => expect(failures.length).toBeGreaterThan(1))
  }
  expect(receiver.seen).toEqual([])
  const { log, failures } = await open('log', { ...trusting, clientCertificate })
  await log.recordIntent(anIntent('over TLS'))
  await eventually(() =>
    expect(
      receiver.taken.some(({ body }) => body.includes('over TLS')),
      failures.join(),
    ).toBe(true),
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
