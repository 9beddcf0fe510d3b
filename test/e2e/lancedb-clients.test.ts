import type { Table } from '@lancedb/lancedb'
import { afterAll, expect, it } from 'vitest'
import { everyInTheLongForm } from '../support/thorough.ts'
import { auditedChanges } from './audited-changes.ts'
import { startDev } from './running-dev.ts'

const dev = await startDev()
afterAll(() => dev.remove())
const remote = await dev.remoteClient()
const catalog = await dev.catalogClient()
for (const namespace of ['demo', 'lake', 'hidden']) await remote.createNamespace([namespace])

function readings(...values: number[]): { value: number }[] {
  return values.map((value) => ({ value }))
}

async function valuesIn(table: Table): Promise<number[]> {
  const rows = (await table.query().toArray()) as { value: number }[]
  return rows.map(({ value }) => value).toSorted((a, b) => a - b)
}

it('the remote client keeps an existing table unless it is overwritten', async () => {
  const table = await remote.createTable('kept', readings(1), ['lake'])
  await table.add(readings(2))
  await expect(remote.createTable('kept', readings(3), ['lake'])).rejects.toThrow(
    /^Table 'kept' already exists/,
  )
  const retained = await remote.createTable('kept', readings(3), ['lake'], { existOk: true })
  expect(await valuesIn(retained)).toEqual([1, 2])
  const replaced = await remote.createTable('kept', readings(4), ['lake'], { mode: 'overwrite' })
  expect(await valuesIn(replaced)).toEqual([4])
})

it('the remote client rejects changes of a read-only caller with 403, and a wrong key with 401', async () => {
  await remote.createTable('read', readings(1), ['demo'])
  await remote.createTable('unread', readings(1), ['hidden'])
  const analyst = await dev.remoteClient(await dev.createKey('somebody', '--group', 'analysts'))
  const table = await analyst.openTable('read', ['demo'])
  expect(await valuesIn(table)).toEqual([1])
  await expect(table.add(readings(2))).rejects.toThrow(/403/)
  await expect(analyst.dropTable('read', ['demo'])).rejects.toThrow(/403/)
  await expect(analyst.createTable('more', readings(1), ['demo'])).rejects.toThrow(/403/)
  // Objects in other namespaces are concealed.
  await expect(analyst.openTable('unread', ['hidden'])).rejects.toThrow(/^Table 'unread' was not found/)
  expect(await remote.tableNames(['demo'])).toEqual(['read'])
  const stranger = await dev.remoteClient(`${dev.key}!`)
  await expect(stranger.tableNames()).rejects.toThrow(/401/)
})

it('each write of the catalog client is audited as a commit, also after a rename', async () => {
  const table = await catalog.createTable('before', readings(1, 2, 3), ['lake'])
  await table.update({ where: 'value = 1', values: { value: 10 } })
  await table.delete('value = 2')
  expect(await valuesIn(table)).toEqual([3, 10])
  await table.add(readings(7), { mode: 'overwrite' })
  await catalog.renameTable('before', 'after', { namespacePath: ['lake'] })
  await expect(catalog.openTable('before', ['lake'])).rejects.toThrow(/^Table 'before' was not found/)
  const renamed = await catalog.openTable('after', ['lake'])
  await renamed.add(readings(8))
  expect(await valuesIn(renamed)).toEqual([7, 8])
  const commits = await Promise.all(
    ['before', 'after'].map((name) => auditedChanges(dev.auditFolder, 'CreateTableVersion', ['lake', name])),
  )
  expect(
    commits.flat().map(({ intent, outcome }) => [intent.principal.name, outcome?.result, outcome?.version]),
  ).toEqual([1, 2, 3, 4, 5].map((version) => ['dev', 'committed', version]))
})

it('a table is concealed from a catalog client without permission', async () => {
  await catalog.createTable('secret', readings(1), ['lake'])
  const stranger = await dev.catalogClient(await dev.createKey('stranger'))
  await expect(stranger.openTable('secret', ['lake'])).rejects.toThrow(/not found|does not exist/i)
})

const names = everyInTheLongForm(
  ['заказы', '注文', 'طلبات', 'הזמנות', 'ऑर्डर', 'Größe', 'e\u0301', '\u00e9', '📦', 'a.b-c_d'],
  2,
)

it.for([...names, 'with a space'])('both clients work with the name %s', async (name) => {
  await remote.createNamespace([name])
  expect((await remote.listNamespaces([])).namespaces).toContain(name)
  for (const client of name === 'with a space' ? [remote] : [remote, catalog]) {
    const created = await client.createTable(name, [{ text: name }], [name], { mode: 'overwrite' })
    await created.add([{ text: 'another' }])
    expect(await client.tableNames([name])).toEqual([name])
    const table = await client.openTable(name, [name])
    expect([await table.countRows(`text = '${name}'`), await table.countRows()]).toEqual([1, 2])
  }
})
