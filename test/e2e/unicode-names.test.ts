import { afterAll, expect, it } from 'vitest'
import { startDev } from './running-dev.ts'
import { everyInTheLongForm } from '../support/thorough.ts'

const dev = await startDev()
afterAll(() => dev.remove())

const names = everyInTheLongForm(
  ['заказы', '注文', 'طلبات', 'הזמנות', 'ऑर्डर', 'Größe', 'e\u0301', '\u00e9', '📦', 'a.b-c_d'],
  2,
)

it.for([...names, 'with a space'])('the remote client works with the name %s', async (name) => {
  const client = await dev.remoteClient()
  await client.createNamespace([name])
  const created = await client.createTable(name, [{ text: name }], [name])
  await created.add([{ text: 'another' }])
  expect((await client.listNamespaces([])).namespaces).toContain(name)
  expect(await client.tableNames([name])).toEqual([name])
  const table = await client.openTable(name, [name])
  expect(await table.countRows(`text = '${name}'`)).toBe(1)
  expect(await table.countRows()).toBe(2)
})

it.for(names)('the catalog client works with the name %s', async (name) => {
  const client = await dev.catalogClient()
  const namespace = [`of the catalog client ${names.indexOf(name)}`.replaceAll(' ', '-')]
  await client.createNamespace(namespace)
  const created = await client.createTable(name, [{ text: name }], namespace)
  await created.add([{ text: 'another' }])
  expect(await client.tableNames(namespace)).toEqual([name])
  expect(await (await client.openTable(name, namespace)).countRows()).toBe(2)
})
