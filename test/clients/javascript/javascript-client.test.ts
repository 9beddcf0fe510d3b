import { fileURLToPath } from 'node:url'
import { expect, inject, it, onTestFinished } from 'vitest'
import { auditedChanges } from '../../e2e/audited-changes.ts'
import { projectFolder } from '../../e2e/built-program.ts'
import { startDev } from '../../e2e/running-dev.ts'
import { runScenario } from '../run-scenario.ts'
import { folderOfNewestLancedb, newestLancedb } from './javascript-client.ts'

const scenario = fileURLToPath(new URL('lancedb-scenario.mjs', import.meta.url))

it.for<[client: string, folder: string]>([
  ['the installed lancedb', projectFolder],
  [newestLancedb, folderOfNewestLancedb()],
])('%s works unmodified', async ([client, folder], { skip }) => {
  const isThere = folder === projectFolder || inject('installedClients').includes(client)
  skip(!isThere, `${client} is not installed`)
  const dev = await startDev()
  onTestFinished(() => dev.remove())
  const passed = await runScenario([process.execPath, scenario, folder], dev.url, dev.key)
  expect(passed).toHaveLength(22)
  for (const [change, id] of [
    ['InsertIntoTable', ['people']],
    ['CreateTableVersion', ['lake', 'people']],
  ] as const) {
    const changes = await auditedChanges(dev.auditFolder, change, id)
    expect(changes.length).toBeGreaterThan(0)
    for (const { outcome } of changes) expect(outcome?.result).toBe('committed')
  }
})
