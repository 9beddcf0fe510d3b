import { execFile } from 'node:child_process'
import { rm, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, expect, it } from 'vitest'
import { startDev } from '../../e2e/running-dev.ts'
import { hasOpenssl, makeAuthority } from '../../identity/mtls/test-certificates.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { findProgram } from '../documented-program.ts'
import { startTokenGateway } from '../token-gateway.ts'

const run = promisify(execFile)
const dev = await startDev()
afterAll(() => dev.remove())

const withKey = await findProgram('js lancedb')
const keySetting = 'apiKey: process.env.KEY,'

/** Returns what a program prints. */
async function runProgram(program: string, variables: Readonly<Record<string, string>>): Promise<string> {
  // Beside the installed package, so that Node finds it.
  const file = fileURLToPath(new URL('documented.tmp.mjs', import.meta.url))
  await writeFile(file, program)
  try {
    return (await run(process.execPath, [file], { env: { ...process.env, ...variables } })).stdout
  } finally {
    await rm(file)
  }
}

it('the documented program for JavaScript works', async () => {
  expect(await runProgram(withKey, { CATALOG_URL: dev.url, KEY: dev.key })).toBe('2\n')
})

it('the documented settings for JavaScript work: a token', async () => {
  const gateway = await startTokenGateway()
  const variables = { CATALOG_URL: gateway.url, TOKEN: await gateway.sign('alice') }
  const headers = 'clientConfig: { extraHeaders: { authorization: `Bearer ${process.env.TOKEN}` } },'
  const withToken = withKey.replace(keySetting, `apiKey: '', ${headers}`)
  expect(await runProgram(withToken, variables)).toBe('2\n')
})

it.skipIf(!hasOpenssl())('the documented settings for JavaScript work: a private authority', async () => {
  const authority = await makeAuthority(await temporaryFolder(), 'authority')
  const gateway = await startTokenGateway(await authority.issue('gateway', 'IP:127.0.0.1'))
  const variables = { CATALOG_URL: gateway.url, KEY: gateway.key, CA_FILE: authority.certFile }
  const tls = 'clientConfig: { tlsConfig: { sslCaCert: process.env.CA_FILE } },'
  expect(await runProgram(withKey.replace(keySetting, `${keySetting} ${tls}`), variables)).toBe('2\n')
})
