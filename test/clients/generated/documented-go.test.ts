import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, inject, it } from 'vitest'
import { startDev } from '../../e2e/running-dev.ts'
import { findProgram, readExample } from '../documented-program.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const run = promisify(execFile)
const dev = await startDev()
afterAll(() => dev.remove())

it('the documented program for Go works', { timeout: 900_000 }, async ({ skip }) => {
  skip(!inject('installedClients').includes('generated Go'), 'generated Go is not installed')
  const folder = await temporaryFolder()
  const generate = (await findProgram('sh generate')).replace('http://127.0.0.1:2333', dev.url)
  await run('bash', ['-ec', generate], { cwd: folder, maxBuffer: 1 << 26 })
  const client = join(folder, 'catalog-client')
  await mkdir(join(client, 'program'))
  await writeFile(join(client, 'program', 'main.go'), await readExample('main.go'))
  const env = { ...process.env, CATALOG_URL: dev.url, KEY: dev.key }
  const { stdout } = await run('bash', ['-ec', await findProgram('sh run')], { cwd: client, env })
  expect(stdout).toBe('3\n')
})
