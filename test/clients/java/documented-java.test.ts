import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, inject, it } from 'vitest'
import { startDev } from '../../e2e/running-dev.ts'
import { readExample } from '../documented-program.ts'
import type { JavaClient } from './java-libraries.ts'
import { programCommand } from './java-programs.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const run = promisify(execFile)
const dev = await startDev()
afterAll(() => dev.remove())

it('the documented libraries for Java are those that are tested', async () => {
  const pom = await readFile(new URL('lance-namespace-apache-client.pom.xml', import.meta.url), 'utf8')
  const page = await readFile(new URL('../../../docs/clients.md', import.meta.url), 'utf8')
  const parts = /<groupId>(.*?)<.*?<artifactId>(.*?)<.*?<version>(.*?)</s
  const libraries = pom
    .split('<dependency>')
    .slice(1)
    .map((text) => parts.exec(text)?.slice(1).join(':'))
  expect(libraries.filter((library) => !page.includes(`\`${library}\``))).toEqual([])
})

it.for<[JavaClient, program: string, printed: string]>([
  ['lance-namespace-apache-client', 'CatalogProgram.java', '6\n'],
  ['lance-core', 'FirstProgram.java', '6\n'],
  ['lance-spark', 'SparkProgram.java', '[[1,hello]]\n'],
])('the documented program for %s works', async ([client, program, printed], { skip }) => {
  skip(!inject('installedClients').includes(client), `${client} is not installed`)
  const file = join(await temporaryFolder(), program)
  await writeFile(file, await readExample(program))
  const [java, ...options] = programCommand(client, file)
  const env = { ...process.env, CATALOG_URL: dev.url, KEY: dev.key }
  expect((await run(java, options, { env })).stdout).toBe(printed)
})
