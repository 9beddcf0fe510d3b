import { execFile } from 'node:child_process'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, expect, inject, it } from 'vitest'
import { temporaryFolder } from '../e2e/built-program.ts'
import { startDev } from '../e2e/running-dev.ts'
import { pythonOf, type PythonEnvironment } from './python/python-environments.ts'
import { buildRustProgram, rustTestMs } from './rust/rust-programs.ts'

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
  const file = join(await temporaryFolder(), 'program.rs')
  await writeFile(file, await findProgram('rust.md', 'rust first'))
  const program = await buildRustProgram('documented', { DOCUMENTED_PROGRAM: file })
  expect((await run(program, { env })).stdout).toBe('6\n')
})
