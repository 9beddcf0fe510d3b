// What `helm test` runs: a call that must be refused, and one that must be answered. Says what was wrong, and fails.
const { TARGET = '', API_KEY } = process.env

async function expectStatus(expected, what, headers) {
  const answer = await fetch(TARGET, { headers, signal: AbortSignal.timeout(30_000) })
  const body = await answer.text()
  if (answer.status !== expected)
    throw new Error(`${what}: ${expected} expected, but ${answer.status}: ${body}`)
  console.log(`${what}: ${answer.status}`)
}

await expectStatus(401, 'without a credential', {})
await expectStatus(401, 'with a key that nobody made', { 'x-api-key': 'cgk_nobody_made_this' })
if (API_KEY) await expectStatus(200, 'with the key', { 'x-api-key': API_KEY.trim() })
else console.log('tests.apiKey.existingSecret is not set: no call that must be answered was tried')
