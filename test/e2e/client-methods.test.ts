import { createRequire } from 'node:module'
import { Index, MatchQuery, type Connection, type Table } from '@lancedb/lancedb'
import type * as Arrow from 'apache-arrow'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startDev } from './running-dev.ts'

// The client uses the CommonJS build of apache-arrow, and rejects schemas of another instance.
const { Field, Int32, Schema, Utf8 } = createRequire(import.meta.url)('apache-arrow') as typeof Arrow

const dev = await startDev()
afterAll(() => dev.remove())

type Client = 'remote' | 'catalog'

/** The objects that a method is tried on. Trials run in the order of the table, so one may depend on another. */
interface Subject {
  readonly connection: Connection
  readonly table: Table
  readonly namespace: string[]
}

/** Passes if the method works; if a client does not support it, checks the error. */
type Trial = (subject: Subject, client: Client) => unknown

function people(first: number, count: number): { id: number; name: string; vector: number[] }[] {
  return Array.from({ length: count }, (_, index) => {
    const id = first + index
    return { id, name: `person ${id}`, vector: [id, 1, 1, 1] }
  })
}

/** The compiler checks that every method of the package is covered. */
const ofConnections: Readonly<Record<keyof Connection, Trial>> = {
  isOpen: ({ connection }) => expect(connection.isOpen()).toBe(true),
  display: ({ connection }) => expect(connection.display()).toMatch(/Database/),
  createNamespace: async ({ connection, namespace }) => {
    await connection.createNamespace([...namespace, 'inner'], { properties: { owner: 'sales' } })
  },
  listNamespaces: async ({ connection, namespace }) =>
    expect(await connection.listNamespaces(namespace)).toMatchObject({ namespaces: ['inner'] }),
  describeNamespace: async ({ connection, namespace }) =>
    expect(await connection.describeNamespace([...namespace, 'inner'])).toMatchObject({
      properties: { owner: 'sales' },
    }),
  dropNamespace: async ({ connection, namespace }) => {
    await connection.dropNamespace([...namespace, 'inner'])
    expect((await connection.listNamespaces(namespace)).namespaces).toEqual([])
  },
  createTable: async ({ connection, namespace }) => {
    const created = await connection.createTable('created', people(0, 2), namespace)
    expect(await created.countRows()).toBe(2)
  },
  createEmptyTable: async ({ connection, namespace }) => {
    const created = await connection.createEmptyTable(
      'empty',
      new Schema([new Field('id', new Int32())]),
      namespace,
    )
    expect(await created.countRows()).toBe(0)
  },
  openTable: async ({ connection, namespace }) =>
    expect(await (await connection.openTable('created', namespace)).countRows()).toBe(2),
  tableNames: async ({ connection, namespace }) =>
    expect(await connection.tableNames(namespace)).toEqual(
      expect.arrayContaining(['created', 'empty', 'people']),
    ),
  renameTable: async ({ connection, namespace }) => {
    await connection.renameTable('empty', 'renamed', { namespacePath: namespace })
    const names = await connection.tableNames(namespace)
    expect([names.includes('empty'), names.includes('renamed')]).toEqual([false, true])
  },
  dropTable: async ({ connection, namespace }) => {
    await connection.dropTable('renamed', namespace)
    expect(await connection.tableNames(namespace)).not.toContain('renamed')
  },
  // The bundled catalog has no clones.
  cloneTable: async ({ connection, namespace }, client) => {
    const cloned = connection.cloneTable('clone', '/source.lance', {
      targetNamespacePath: namespace,
      isShallow: true,
    })
    await expect(cloned).rejects.toThrow(
      client === 'remote' ? /does not support the operation CloneTable/ : /not supported/i,
    )
  },
  dropAllTables: async ({ connection, namespace }, client) => {
    if (client === 'remote') {
      await expect(connection.dropAllTables(namespace)).rejects.toThrow(
        /not currently supported in the remote API/,
      )
    } else {
      await connection.dropAllTables(namespace)
      expect(await connection.tableNames(namespace)).toEqual([])
    }
  },
  close: ({ connection }) => {
    connection.close()
    expect(connection.isOpen()).toBe(false)
  },
}

const ofTables: Readonly<Record<keyof Table, Trial>> = {
  name: ({ table }) => expect(table.name).toBe('people'),
  isOpen: ({ table }) => expect(table.isOpen()).toBe(true),
  display: ({ table }) => expect(table.display()).toMatch(/people/),
  schema: async ({ table }) =>
    expect((await table.schema()).fields.map(({ name }) => name)).toEqual(['id', 'name', 'vector']),
  add: async ({ table }) => expect(await table.add(people(100, 5))).toEqual({ version: 2 }),
  update: async ({ table }) =>
    expect(await table.update({ where: 'id = 1', values: { name: 'Ada' } })).toEqual({
      rowsUpdated: 1,
      version: 3,
    }),
  delete: async ({ table }) =>
    expect(await table.delete('id = 2')).toEqual({ numDeletedRows: 1, version: 4 }),
  countRows: async ({ table }) => {
    expect(await table.countRows()).toBe(104)
    expect(await table.countRows("name = 'Ada'")).toBe(1)
  },
  mergeInsert: async ({ table }) => {
    const merge = table.mergeInsert('id').whenMatchedUpdateAll().whenNotMatchedInsertAll()
    expect(await merge.execute(people(104, 2))).toMatchObject({ numInsertedRows: 1, numUpdatedRows: 1 })
  },
  query: async ({ table }) => {
    const rows = (await table.query().where('id > 100').select(['id']).limit(3).toArray()) as { id: number }[]
    expect(rows.map(({ id }) => id)).toEqual([101, 102, 103])
  },
  takeOffsets: async ({ table }) => expect(await table.takeOffsets([0, 3]).toArray()).toHaveLength(2),
  takeRowIds: async ({ table }) => {
    const [row] = (await table.query().withRowId().limit(1).toArray()) as { id: number; _rowid: bigint }[]
    const [taken] = (await table.takeRowIds([row?._rowid ?? 0n]).toArray()) as { id: number }[]
    expect(taken?.id).toBe(row?.id)
  },
  search: async ({ table }) => {
    const [nearest] = (await table.search([50, 1, 1, 1]).limit(1).toArray()) as { id: number }[]
    expect(nearest?.id).toBe(50)
  },
  vectorSearch: async ({ table }) => {
    const [nearest] = (await table.vectorSearch([60, 1, 1, 1]).limit(1).toArray()) as { id: number }[]
    expect(nearest?.id).toBe(60)
  },
  toArrow: async ({ table }) => expect((await table.toArrow()).numRows).toBe(105),
  addColumns: async ({ table }) => {
    await table.addColumns([{ name: 'double', valueSql: 'id * 2' }])
    expect(await table.countRows('double = id + id')).toBe(105)
  },
  alterColumns: async ({ table }) => {
    await table.alterColumns([{ path: 'double', rename: 'twice' }])
    expect(await table.countRows('twice = 2 * id')).toBe(105)
  },
  updateFieldMetadata: async ({ table }) => {
    await table.updateFieldMetadata([{ path: 'twice', metadata: { unit: 'm' } }])
    const field = (await table.schema()).fields.find(({ name }) => name === 'twice')
    expect(field?.metadata.get('unit')).toBe('m')
  },
  dropColumns: async ({ table }) => {
    await table.dropColumns(['twice'])
    expect((await table.schema()).names).not.toContain('twice')
  },
  createIndex: async ({ table }) => {
    await table.createIndex('id', { config: Index.btree() })
    await table.createIndex('name', { config: Index.fts() })
    const found = await table.query().fullTextSearch(new MatchQuery('Ada', 'name')).limit(5).toArray()
    expect(found).toHaveLength(1)
  },
  waitForIndex: async ({ table }) =>
    expect(await table.waitForIndex(['id_idx', 'name_idx'], 10)).toBeUndefined(),
  listIndices: async ({ table }) => {
    const indexes = await table.listIndices()
    expect(indexes.map(({ name, columns }) => `${name} ${columns.join()}`).toSorted()).toEqual([
      'id_idx id',
      'name_idx name',
    ])
  },
  indexStats: async ({ table }) => {
    expect(await table.indexStats('id_idx')).toMatchObject({ numIndexedRows: 105, indexType: 'BTREE' })
    expect(await table.indexStats('absent')).toBeUndefined()
  },
  prewarmIndex: async ({ table }) => {
    await table.prewarmIndex('id_idx')
    await expect(table.prewarmIndex('absent')).rejects.toThrow(/absent/)
  },
  prewarmData: async ({ table }, client) => {
    const warmed = table.prewarmData(['id'])
    if (client === 'remote') await warmed
    else await expect(warmed).rejects.toThrow(/only supported on remote tables/)
  },
  dropIndex: async ({ table }) => {
    await table.dropIndex('name_idx')
    expect(await table.listIndices()).toHaveLength(1)
  },
  stats: async ({ table }) => expect(await table.stats()).toMatchObject({ numRows: 105, numIndices: 1 }),
  tags: async ({ table }) => {
    const tags = await table.tags()
    await tags.create('first', 1)
    await tags.update('first', 2)
    expect(await tags.getVersion('first')).toBe(2)
    expect(Object.keys(await tags.list())).toEqual(['first'])
    await table.checkout('first')
    expect(await table.version()).toBe(2)
    await table.checkoutLatest()
    await tags.delete('first')
    expect(await tags.list()).toEqual({})
  },
  branches: async ({ table }) => {
    const branches = await table.branches()
    await branches.create('dev')
    expect(Object.keys(await branches.list())).toEqual(['dev'])
    const branch = await branches.checkout('dev')
    await branch.add(people(200, 1))
    expect([await branch.countRows(), await table.countRows()]).toEqual([106, 105])
    await branches.delete('dev')
    expect(await branches.list()).toEqual({})
  },
  currentBranch: ({ table }) => expect(table.currentBranch()).toBeNull(),
  version: async ({ table }) => expect(await table.version()).toBeGreaterThan(5),
  listVersions: async ({ table }) => {
    const versions = (await table.listVersions()).map(({ version }) => version)
    expect(versions).toEqual(Array.from({ length: await table.version() }, (_, index) => index + 1))
  },
  checkout: async ({ table }) => {
    await table.checkout(1)
    expect(await table.countRows()).toBe(100)
    await expect(table.add(people(300, 1))).rejects.toThrow(
      /Cannot mutate table reference|cannot be modified/,
    )
  },
  restore: async ({ table }) => {
    const before = await table.version()
    await table.restore()
    expect(await table.countRows()).toBe(100)
    expect(await table.version()).toBeGreaterThan(before)
  },
  checkoutLatest: async ({ table }) => {
    await table.checkoutLatest()
    await table.add(people(100, 1))
    expect(await table.countRows()).toBe(101)
  },
  optimize: async ({ table }, client) => {
    if (client === 'remote') await expect(table.optimize()).rejects.toThrow(/not supported on LanceDB cloud/)
    else expect(await table.optimize()).toHaveProperty('compaction')
  },
  setUnenforcedPrimaryKey: async ({ table, connection, namespace }, client) => {
    if (client === 'remote') {
      await expect(table.setUnenforcedPrimaryKey('name')).rejects.toThrow(/not supported on LanceDB cloud/)
    } else {
      const keyed = new Schema([new Field('key', new Utf8(), false)])
      await (await connection.createEmptyTable('keyed', keyed, namespace)).setUnenforcedPrimaryKey('key')
    }
  },
  // The interface has no such operations; the catalog client creates versions directly.
  setLsmWriteSpec: async ({ table, connection, namespace }, client) => {
    const spec = { specType: 'unsharded' } as const
    if (client === 'remote')
      await expect(table.setLsmWriteSpec(spec)).rejects.toThrow(/does not support the operation/)
    else await (await connection.openTable('keyed', namespace)).setLsmWriteSpec(spec)
  },
  unsetLsmWriteSpec: async ({ table, connection, namespace }, client) => {
    if (client === 'remote')
      await expect(table.unsetLsmWriteSpec()).rejects.toThrow(/does not support the operation/)
    else await (await connection.openTable('keyed', namespace)).unsetLsmWriteSpec()
  },
  closeLsmWriters: async ({ table }) => expect(await table.closeLsmWriters()).toBeUndefined(),
  initialStorageOptions: async ({ table }) => expect((await table.initialStorageOptions()) ?? {}).toEqual({}),
  latestStorageOptions: async ({ table }) => expect((await table.latestStorageOptions()) ?? {}).toEqual({}),
  close: ({ table }) => {
    table.close()
    expect(table.isOpen()).toBe(false)
  },
}

describe.each(['remote', 'catalog'] as const)('of the %s client', (client) => {
  let subject: Subject

  beforeAll(async () => {
    const connection = await (client === 'remote' ? dev.remoteClient() : dev.catalogClient())
    const namespace = [client]
    await connection.createNamespace(namespace)
    subject = {
      connection,
      namespace,
      table: await connection.createTable('people', people(0, 100), namespace),
    }
  })

  it.each(Object.entries(ofTables))('the method %s of tables', async (_name, trial) => {
    await trial(subject, client)
  })

  it.each(Object.entries(ofConnections))('the method %s of connections', async (_name, trial) => {
    await trial(subject, client)
  })
})
