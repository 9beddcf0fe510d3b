import type { Table } from '@lancedb/lancedb'
import { afterAll, expect, it } from 'vitest'
import { auditedChanges } from './audited-changes.ts'
import { startDev } from './running-dev.ts'

const dev = await startDev()
afterAll(() => dev.remove())
const client = await dev.catalogClient()
await client.createNamespace(['lake'])

function readings(...values: number[]): { value: number }[] {
  return values.map((value) => ({ value }))
}

async function valuesIn(table: Table): Promise<number[]> {
  const rows = (await table.query().toArray()) as { value: number }[]
  return rows.map(({ value }) => value).toSorted((a, b) => a - b)
}

/** Returns the audited commits of a table: principal, outcome and version. */
async function auditedCommits(table: string): Promise<unknown[]> {
  const commits = await auditedChanges(dev.auditFolder, 'CreateTableVersion', ['lake', table])
  return commits.map(({ intent, outcome }) => [intent.principal.name, outcome?.result, outcome?.version])
}

it('audits every commit with its version', async () => {
  const table = await client.createTable('appended', readings(1), ['lake'])
  await table.add(readings(2))
  await table.add(readings(3, 4))
  expect(await valuesIn(table)).toEqual([1, 2, 3, 4])
  expect(await auditedCommits('appended')).toEqual([
    ['dev', 'committed', 1],
    ['dev', 'committed', 2],
    ['dev', 'committed', 3],
  ])
})

it('audits updates, deletes and overwrites as commits', async () => {
  const table = await client.createTable('changed', readings(1, 2, 3), ['lake'])
  await table.update({ where: 'value = 1', values: { value: 10 } })
  await table.delete('value = 2')
  expect(await valuesIn(table)).toEqual([3, 10])
  await table.add(readings(7), { mode: 'overwrite' })
  expect(await valuesIn(table)).toEqual([7])
  const versions = [1, 2, 3, 4].map((version) => ['dev', 'committed', version])
  expect(await auditedCommits('changed')).toEqual(versions)
})

it('keeps rows and versions of a renamed table writable', async () => {
  const table = await client.createTable('before', readings(1), ['lake'])
  await table.add(readings(2))
  await client.renameTable('before', 'after', { namespacePath: ['lake'] })
  await expect(client.openTable('before', ['lake'])).rejects.toThrow(/^Table 'before' was not found/)
  const renamed = await client.openTable('after', ['lake'])
  await renamed.add(readings(3))
  expect(await valuesIn(renamed)).toEqual([1, 2, 3])
  expect(await renamed.version()).toBe(3)
})

it('conceals a table from a caller without permission', async () => {
  await client.createTable('secret', readings(1), ['lake'])
  const stranger = await dev.catalogClient(await dev.createKey('stranger'))
  await expect(stranger.openTable('secret', ['lake'])).rejects.toThrow(/not found|does not exist/i)
})
