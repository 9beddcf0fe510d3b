import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, expect, inject, it } from 'vitest'
import { startDev } from '../../e2e/running-dev.ts'
import { runScenario } from '../run-scenario.ts'
import { fetchLancedbSources } from './lancedb-sources.ts'
import { buildRustProgram, rustTestMs } from './rust-programs.ts'

const dev = await startDev()
afterAll(() => dev.remove())

/** Methods that the scenario does not call: they send nothing. */
const notCalled = [
  'new uri database embedding_registry namespace_client',
  'base_table database_opt as_native name namespace id dataset storage_options initial_storage_options',
  // It needs a descriptor, which a server with blobs sends.
  'open_blob_file',
].flatMap((names) => names.split(' '))

it('LanceDB for Rust calls all of its methods', { timeout: rustTestMs }, async ({ skip }) => {
  skip(!inject('installedClients').includes('lancedb for rust'), 'the crate lancedb is not installed')
  const program = await buildRustProgram('lancedb-methods')
  const { passed, failed } = await runScenario([program], dev.url, dev.key)
  expect(failed).toEqual([])
  expect(passed.length).toBeGreaterThan(100)
})

// A method that a new version brings must be called, or named here.
it('the scenario calls every method of the newest LanceDB for Rust', async ({ skip }) => {
  skip(!inject('installedClients').includes('lancedb-sources'), 'the sources of lancedb are not available')
  const { folder } = await fetchLancedbSources()
  const sources = await Promise.all(
    ['connection', 'table'].map((name) => readFile(join(folder, 'src', `${name}.rs`), 'utf8')),
  )
  const methods = sources.flatMap((source) =>
    [...source.matchAll(/^impl (?:Connection|Table) \{\n([^]*?)^\}/gm)].flatMap(([, body = '']) =>
      [...body.matchAll(/^ {4}pub (?:async )?fn (\w+)/gm)].map(([, name = '']) => name),
    ),
  )
  const scenario = await readFile(new URL('lancedb/src/main.rs', import.meta.url), 'utf8')
  expect(methods.length).toBeGreaterThan(100)
  const missing = methods.filter((name) => !scenario.includes(`.${name}(`) && !notCalled.includes(name))
  expect(missing).toEqual([])
})
