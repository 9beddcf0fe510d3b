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

/** Returns what a program of `docs/clients/javascript.md` prints. */
async function runProgram(label: string, variables: Readonly<Record<string, string>>): Promise<string> {
  // Beside the installed package, so that Node finds it.
  const file = fileURLToPath(new URL(`documented-${label}.tmp.mjs`, import.meta.url))
  await writeFile(file, await findProgram('javascript.md', `js ${label}`))
  try {
    return (await run(process.execPath, [file], { env: { ...process.env, ...variables } })).stdout
  } finally {
    await rm(file)
  }
}

it('the documented program for JavaScript works', async () => {
  expect(await runProgram('lancedb', { CATALOG_URL: dev.url, KEY: dev.key })).toBe('2\n')
})

it('the documented program for JavaScript with a token works', async () => {
  const gateway = await startTokenGateway()
  const variables = { CATALOG_URL: gateway.url, TOKEN: await gateway.sign('alice') }
  expect(await runProgram('token', variables)).toBe('1\n')
})

it.skipIf(!hasOpenssl())('the documented program for JavaScript over TLS works', async () => {
  const authority = await makeAuthority(await temporaryFolder(), 'authority')
  const gateway = await startTokenGateway(await authority.issue('gateway', 'IP:127.0.0.1'))
  const variables = { CATALOG_URL: gateway.url, KEY: gateway.key, CA_FILE: authority.certFile }
  expect(await runProgram('tls', variables)).toBe('1\n')
})
