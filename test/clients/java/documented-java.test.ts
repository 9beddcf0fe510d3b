import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, inject, it } from 'vitest'
import { startDev } from '../../e2e/running-dev.ts'
import { findProgram, readExample } from '../documented-program.ts'
import type { JavaClient } from './java-libraries.ts'
import { programCommand } from './java-programs.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const run = promisify(execFile)
const dev = await startDev()
afterAll(() => dev.remove())

it('the documented libraries for Java are those that are tested', async () => {
  const pom = new URL('lance-namespace-apache-client.pom.xml', import.meta.url)
  expect(await findProgram('xml lance-namespace-apache-client')).toBe(await readFile(pom, 'utf8'))
})

it.for<[JavaClient, printed: string]>([
  ['lance-namespace-apache-client', '6\n'],
  ['lance-core', '6\n'],
  ['lance-spark', '[[1,hello]]\n'],
])('the documented program for %s works', async ([client, printed], { skip }) => {
  skip(!inject('installedClients').includes(client), `${client} is not installed`)
  const file = join(await temporaryFolder(), 'FirstProgram.java')
  const program = client === 'lance-core' ? readExample('FirstProgram.java') : findProgram(`java ${client}`)
  await writeFile(file, await program)
  const [java, ...options] = programCommand(client, file)
  const env = { ...process.env, CATALOG_URL: dev.url, KEY: dev.key }
  expect((await run(java, options, { env })).stdout).toBe(printed)
})
