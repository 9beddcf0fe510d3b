import { execFile } from 'node:child_process'
import { rm, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, expect, it } from 'vitest'
import { startDev } from '../../e2e/running-dev.ts'
import { findProgram } from '../documented-program.ts'

const run = promisify(execFile)
const dev = await startDev()
afterAll(() => dev.remove())

it('the documented program for JavaScript works', async () => {
  // Beside the installed package, so that Node finds it.
  const file = fileURLToPath(new URL('documented-program.tmp.mjs', import.meta.url))
  const env = { ...process.env, CATALOG_URL: dev.url, KEY: dev.key }
  await writeFile(file, await findProgram('javascript.md', 'js lancedb'))
  try {
    expect((await run(process.execPath, [file], { env })).stdout).toBe('2\n')
  } finally {
    await rm(file)
  }
})
