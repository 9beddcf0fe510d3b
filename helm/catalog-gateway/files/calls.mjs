// What `helm test` runs: a call that must be refused, and one that must succeed. Says what was wrong, and fails.
import { setTimeout as sleep } from 'node:timers/promises'

const { TARGET = '', API_KEY, ACCEPTS_ANONYMOUS } = process.env
/** Right after an installation, names and endpoints may not be there yet. */
const deadline = Date.now() + 60_000

/** A certificate that is not trusted now is not later. */
const ofCertificates = /CERT|VERIFY|ISSUER/

async function call(headers) {
  for (;;) {
    const result = await fetch(TARGET, { headers, signal: AbortSignal.timeout(30_000) })
      .then(async (response) => ({ status: response.status, text: await response.text() }))
      .catch(({ message, cause }) => {
        if (ofCertificates.test(cause?.code)) {
          throw new Error(
            `${TARGET}: ${cause.message}; expected tests.caCertificate with the CA certificate of config.listen.tls`,
          )
        }
        return { status: undefined, text: `${message}: ${cause?.message ?? ''}` }
      })
    if (![undefined, 502, 503, 504].includes(result.status) || Date.now() > deadline) return result
    console.log(`${TARGET}: ${result.status ?? 'no response'}: ${result.text}; trying again`)
    await sleep(2_000)
  }
}

async function expectStatus(expected, what, headers) {
  const { status, text } = await call(headers)
  if (status !== expected) {
    throw new Error(`${TARGET} ${what}: ${expected} expected, but ${status ?? 'no response'}: ${text}`)
  }
  console.log(`${what}: ${status}`)
}

process.once('uncaughtException', ({ message }) => {
  console.error(message)
  process.exitCode = 1
})

// With anonymous callers, the policies decide.
if (!ACCEPTS_ANONYMOUS) await expectStatus(401, 'without a credential', {})
await expectStatus(401, 'with a key that nobody made', { 'x-api-key': 'cgk_nobody_made_this' })
if (API_KEY) await expectStatus(200, 'with the key', { 'x-api-key': API_KEY.trim() })
else console.log('tests.apiKey.existingSecret is not set: no call that must succeed was tried')
