import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { FixedSizeList, Field, Float32, Int32, Table, tableToIPC, vectorFromArray } from 'apache-arrow'
import { afterAll, expect, inject, it } from 'vitest'
import { startDev } from '../../e2e/running-dev.ts'
import { getKeys } from '../../../src/lib/collections.ts'
import { findProgram, readExample } from '../documented-program.ts'
import { runScenario } from '../run-scenario.ts'
import { buildClient, languages } from './openapi-generator.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const run = promisify(execFile)
const dev = await startDev()
afterAll(() => dev.remove())

async function writeRows(): Promise<string> {
  const vectors = new FixedSizeList(2, new Field('item', new Float32(), true))
  const rows = new Table({
    id: vectorFromArray([1, 2, 3], new Int32()),
    vector: vectorFromArray(
      [
        [0.1, 0.2],
        [0.3, 0.4],
        [0.5, 0.6],
      ],
      vectors,
    ),
  })
  const file = join(await temporaryFolder(), 'rows.arrows')
  await writeFile(file, tableToIPC(rows, 'stream'))
  return file
}

it.for(getKeys(languages))(
  'a client for %s that is generated from the served document compiles and works',
  { timeout: 1_200_000 },
  async (name, { skip }) => {
    const client = `generated ${name}`
    skip(!inject('installedClients').includes(client), `${client} is not installed`)
    const folder = await buildClient(languages[name], `${dev.url}/openapi.json`)
    const [program, ...options] = languages[name].command
    const command = [program, ...options, await writeRows()] as const
    const passed = await runScenario(command, dev.url, dev.key, folder)
    expect(passed).toHaveLength(13)
  },
)

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
