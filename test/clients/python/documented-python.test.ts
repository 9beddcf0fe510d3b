import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, inject, it } from 'vitest'
import { startDev } from '../../e2e/running-dev.ts'
import { findProgram, readExample } from '../documented-program.ts'
import { pythonOf, type PythonEnvironment } from './python-environments.ts'
import { startTokenGateway } from '../token-gateway.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const run = promisify(execFile)
const dev = await startDev()
afterAll(() => dev.remove())

/** Returns what a program prints. */
async function runPython(
  environment: PythonEnvironment,
  program: string,
  variables: Readonly<Record<string, string>>,
): Promise<string> {
  const file = join(await temporaryFolder(), 'program.py')
  await writeFile(file, program)
  const options = { env: { ...process.env, ...variables, PYTHONWARNINGS: 'ignore' } }
  return (await run(pythonOf(environment), [file], options)).stdout
}

it.for<[label: string, PythonEnvironment, printed: string]>([
  ['lancedb', 'lancedb-0.40.0', 'hello\n'],
  ['databases.py', 'lancedb-0.40.0', '1 2\n'],
  ['lance', 'lance-14.0.2', '6\n'],
  ['catalog.py', 'lance-14.0.2', 'True\n'],
  ['llamaindex.py', 'vector-stores', '2 world\n'],
  ['langchain_store.py', 'vector-stores', 'world\n'],
])('the documented program %s for Python works', async ([name, environment, printed], { skip }) => {
  skip(!inject('installedClients').includes(environment), `${environment} is not installed`)
  const variables = { CATALOG_URL: dev.url, KEY: dev.key }
  const program = name.endsWith('.py') ? readExample(name) : findProgram(`python ${name}`)
  expect(await runPython(environment, await program, variables)).toBe(printed)
})

it('the documented provider of headers for Python sends the token of a file', async ({ skip }) => {
  skip(!inject('installedClients').includes('lancedb-0.40.0'), 'lancedb-0.40.0 is not installed')
  const gateway = await startTokenGateway()
  const tokenFile = join(await temporaryFolder(), 'token')
  await writeFile(tokenFile, `${await gateway.sign('alice')}\n`)
  const variables = { CATALOG_URL: gateway.url, TOKEN_FILE: tokenFile }
  const provider = await readExample('header_provider.py')
  expect(await runPython('lancedb-0.40.0', provider, variables)).toBe('1\n')
})
