import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { appendConcurrently, inOrder, type AppendedRow, type WriterClient } from './appending-writers.ts'
import { auditedChanges } from './audited-changes.ts'
import { startDev } from './running-dev.ts'
import { isThorough } from '../support/thorough.ts'

type Race = [name: string, clients: WriterClient[], appends: number]

const dev = await startDev()
afterAll(() => dev.remove())
const owner = await dev.catalogClient()
await owner.createNamespace(['lake'])

const manyProcesses: Race[] = [
  ['four processes', ['catalog', 'catalog', 'catalog', 'catalog'], 5],
  ['eight processes', Array<WriterClient>(8).fill('catalog'), 25],
]
const races: Race[] = [
  ['two processes', ['catalog', 'catalog'], 6],
  ...(isThorough ? manyProcesses : []),
  ['writers through the gateway and writers that commit', ['catalog', 'remote', 'catalog', 'remote'], 5],
]

// Eight conflicting writers take long on a busy machine.
it.for(races)(
  'no commit of %s is lost or made twice',
  { timeout: 120_000 },
  async ([name, clients, appends]) => {
    const table = await owner.createTable(name.replaceAll(' ', '-'), [{ writer: -1, number: 0 }], ['lake'])
    const appended = await appendConcurrently(dev, clients, ['lake', table.name], appends)
    const rows = [{ writer: -1, number: 0 }, ...appended]
    const versions = rows.map((_, index) => index + 1)

    await table.checkoutLatest()
    expect(inOrder((await table.query().toArray()) as AppendedRow[])).toEqual(inOrder(rows))
    expect((await table.listVersions()).map(({ version }) => version)).toEqual(versions)
    expect(await versionsOfAudit(table.name)).toEqual(versions)
    for (const file of await manifestsOf(table.name)) expect(file).toMatch(/^\d{20}\.manifest$/)
  },
)

/** The versions recorded as committed in the audit log, by either kind of client. */
async function versionsOfAudit(table: string): Promise<unknown[]> {
  const changes = await auditedChanges(dev.auditFolder, undefined, ['lake', table])
  return changes
    .filter(({ intent }) => ['CreateTableVersion', 'InsertIntoTable'].includes(intent.operation))
    .filter(({ outcome }) => outcome?.result === 'committed')
    .map(({ outcome }) => outcome?.version)
    .toSorted((a, b) => Number(a) - Number(b))
}

async function manifestsOf(table: string): Promise<string[]> {
  const response = await dev.send('POST', `/v1/table/lake$${table}/describe`, {})
  const { location } = (await response.json()) as { location: string }
  const files = await readdir(join(location.replace(/^file:\/\//, ''), '_versions'))
  return files.filter((file) => file !== 'latest_version_hint.json')
}
