import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, inject, it } from 'vitest'
import { startDev } from '../../e2e/running-dev.ts'
import { hasOpenssl, makeAuthority } from '../../identity/mtls/test-certificates.ts'
import { readExample } from '../documented-program.ts'
import { buildRustProgram, rustTestMs } from './rust-programs.ts'
import { startTokenGateway } from '../token-gateway.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const run = promisify(execFile)
const dev = await startDev()
afterAll(() => dev.remove())
const env = { ...process.env, CATALOG_URL: dev.url, KEY: dev.key }

it('the documented program for Rust works', { timeout: rustTestMs }, async ({ skip }) => {
  skip(!inject('installedClients').includes('rust'), 'the crates for Rust are not installed')
  const program = await buildDocumentedRust(await readExample('main.rs'))
  expect((await run(program, { env })).stdout).toBe('6\n')
})

it(
  'the documented settings for Rust work: a token, a private authority',
  { timeout: rustTestMs },
  async ({ skip }) => {
    skip(!inject('installedClients').includes('rust'), 'the crates for Rust are not installed')
    skip(!hasOpenssl(), 'there is no openssl on this machine')
    const authority = await makeAuthority(await temporaryFolder(), 'authority')
    const gateway = await startTokenGateway(await authority.issue('gateway', 'IP:127.0.0.1'))
    const withKey = await readExample('main.rs')
    const withToken = withKey.replace(/api_key: .*/, 'bearer_access_token: Some(env::var("TOKEN")?),')
    const program = await buildDocumentedRust(withToken)
    const TOKEN = await gateway.sign('alice')
    const trusting = { ...process.env, CATALOG_URL: gateway.url, TOKEN, SSL_CERT_FILE: authority.certFile }
    expect((await run(program, { env: trusting })).stdout).toBe('6\n')
  },
)

async function buildDocumentedRust(text: string): Promise<string> {
  const file = join(await temporaryFolder(), 'program.rs')
  await writeFile(file, text)
  return buildRustProgram(file)
}
