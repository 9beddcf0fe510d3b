import { afterAll, expect, inject, it } from 'vitest'
import { auditedChanges } from '../../e2e/audited-changes.ts'
import { startDev } from '../../e2e/running-dev.ts'
import { readJsonLines } from '../../support/json-lines.ts'
import { runScenario } from '../run-scenario.ts'
import { buildRustProgram, rustTestMs } from './rust-programs.ts'

/** The operations of the public interface; the client has no others. */
const documented = readJsonLines(
  new URL('../../catalog-api/documented-operations.jsonl', import.meta.url),
) as readonly { readonly name: string }[]

const dev = await startDev()
afterAll(() => dev.remove())

it(
  'the client for Rust understands every operation of the interface',
  { timeout: rustTestMs },
  async ({ skip }) => {
    skip(!inject('installedClients').includes('rust'), 'the crates for Rust are not installed')
    const scenario = await buildRustProgram('scenario')
    const readerKey = await dev.createKey('reader', '--group', 'analysts')
    const { passed, failed } = await runScenario([scenario, readerKey], dev.url, dev.key)
    expect(failed).toEqual([])
    const called = new Set(passed.map((step) => step.split(':', 1)[0]))
    expect(documented.filter(({ name }) => !called.has(name))).toEqual([])

    const changes = await auditedChanges(dev.auditFolder, 'CreateTableVersion', ['demo', 'one'])
    expect(changes.map(({ outcome }) => outcome?.result)).toContain('committed')
  },
)
