import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { expect, inject, it } from 'vitest'
import { scriptCommand } from './python-scripts.ts'

const newest = 'lancedb-0.40.0'

/** The scenarios that python-clients.test.ts runs with the newest client. */
const scenarios = ['lancedb', 'lancedb_async', 'lancedb_methods']

/** Methods that no scenario calls, with the reason. */
const notCalled: Readonly<Record<string, string>> = {
  namespace_client: 'it returns the catalog client, which a scenario of its own calls',
}

// A method that a new version brings must be called, or named here.
it('the scenarios call every method of the newest LanceDB for Python', async ({ skip }) => {
  skip(!inject('installedClients').includes(newest), `${newest} is not installed`)
  const [python, script] = scriptCommand(newest, 'list_methods.py')
  const { stdout } = await promisify(execFile)(python, [script])
  const methods = JSON.parse(stdout) as string[]
  const texts = await Promise.all(
    scenarios.map((name) => readFile(new URL(`${name}_scenario.py`, import.meta.url), 'utf8')),
  )
  const called = new Set(
    texts.flatMap((text) =>
      [...text.matchAll(/\.([a-z]\w*)|"([a-z]\w*)"/g)].map(([, method, quoted]) => method ?? quoted),
    ),
  )
  expect(methods.length).toBeGreaterThan(100)
  expect(methods.filter((name) => !called.has(name))).toEqual(Object.keys(notCalled))
})
