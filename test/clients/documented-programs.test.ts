import { execFile } from 'node:child_process'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, expect, inject, it } from 'vitest'
import { temporaryFolder } from '../e2e/built-program.ts'
import { startDev } from '../e2e/running-dev.ts'
import { hasOpenssl, makeAuthority } from '../identity/mtls/test-certificates.ts'
import { pythonOf, type PythonEnvironment } from './python/python-environments.ts'
import { buildRustProgram, rustTestMs } from './rust/rust-programs.ts'
import { startTokenGateway } from './token-gateway.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))
const dev = await startDev()
afterAll(() => dev.remove())
const env = { ...process.env, CATALOG_URL: dev.url, KEY: dev.key, PYTHONWARNINGS: 'ignore' }

/** Returns the program of a page of `docs/clients` in a code block with that label. */
async function findProgram(page: string, label: string): Promise<string> {
  const text = await readFile(join(root, 'docs', 'clients', page), 'utf8')
  const program = text.split(`\`\`\`${label}\n`)[1]?.split('```')[0]
  if (program === undefined) throw new Error(`docs/clients/${page} has no program ${label}`)
  return program
}

it.for<[PythonEnvironment, printed: string]>([
  ['lancedb-0.40.0', 'hello\n'],
  ['lance-14.0.2', '6\n'],
])('the documented program for %s works', async ([environment, printed], { skip }) => {
  skip(!inject('installedClients').includes(environment), `${environment} is not installed`)
  const file = join(await temporaryFolder(), 'program.py')
  await writeFile(file, await findProgram('python.md', `python ${environment}`))
  expect((await run(pythonOf(environment), [file], { env })).stdout).toBe(printed)
})

it('the documented program for JavaScript works', async () => {
  // Beside the installed package, so that Node finds it.
  const file = join(root, 'test', 'clients', 'documented-program.tmp.mjs')
  await writeFile(file, await findProgram('javascript.md', 'js lancedb'))
  try {
    expect((await run(process.execPath, [file], { env })).stdout).toBe('2\n')
  } finally {
    await rm(file)
  }
})

it('the documented program for Rust works', { timeout: rustTestMs }, async ({ skip }) => {
  skip(!inject('installedClients').includes('rust'), 'the crates for Rust are not installed')
  const program = await buildDocumentedRust(await findProgram('rust.md', 'rust first'))
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
    const withKey = await findProgram('rust.md', 'rust first')
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
  return buildRustProgram('documented', { DOCUMENTED_PROGRAM: file })
}
