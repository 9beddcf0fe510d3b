// The methods of LanceDB's remote client that lancedb-scenario.mjs does not call:
// lancedb-methods-scenario.mjs FOLDER_OF_MODULES URL KEY
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { step } from './step.mjs'

const [folder = '', url = '', key = ''] = process.argv.slice(2)
const require = createRequire(join(folder, 'index.js'))
const { connect, Index } = require('@lancedb/lancedb')
const { Field, Int32, Schema } = require('apache-arrow')

const db = await connect('db://any', { apiKey: key, hostOverride: url })
const rows = Array.from({ length: 300 }, (_, id) => ({ id, text: `dog ${id}`, vector: [id, 1, 1, 1] }))
const table = await db.createTable('things', rows, { mode: 'overwrite' })
const branches = await table.branches()
const tags = await table.tags()
const count = async (query) => (await query.toArray()).length
const rejects = (call, pattern) =>
  assert.rejects(call, (error) => pattern.test([error, error.cause].join(' ')))

await step('describe the connection', () => {
  assert.ok(db.isOpen())
  assert.match(db.display(), /Remote/)
})
await step('describe the table', async () => {
  assert.ok(table.isOpen())
  assert.equal(table.name, 'things')
  assert.match(table.display(), /things/)
  assert.ok((await table.version()) > 0)
  assert.equal(table.currentBranch(), null)
  assert.equal((await table.getEmbeddingFunctions()).size, 0)
})
await step('namespaces', async () => {
  await db.createNamespace(['shelf'], { properties: { owner: 'ann' } })
  assert.deepEqual((await db.describeNamespace(['shelf'])).properties, { owner: 'ann' })
  assert.ok((await db.listNamespaces()).namespaces.includes('shelf'))
  await db.dropNamespace(['shelf'])
})
await step('create without rows, list and rename', async () => {
  await db.createEmptyTable('empty', new Schema([new Field('id', new Int32())]))
  assert.deepEqual((await db.listTables()).tables, ['empty', 'things'])
  await db.renameTable('empty', 'renamed')
  await db.dropTable('renamed')
})
await step('read everything', async () => assert.equal((await table.toArrow()).numRows, 300))
await step('rows by position and id', async () => {
  assert.equal(await count(table.takeOffsets([2, 3])), 2)
  assert.equal(await count(table.takeRowIds([2n])), 1)
})
await step('search vectors', async () =>
  assert.equal(await count(table.vectorSearch([5, 1, 1, 1]).limit(2)), 2),
)
await step('columns of blobs', async () => assert.deepEqual(await table.blobColumns(), []))
await step('metadata of a field', () => table.updateFieldMetadata([{ path: 'id', metadata: { unit: 'm' } }]))
await step('an index in the background', async () => {
  await (await table.createIndexAsync('id', { config: Index.btree() })).wait()
  await table.waitForIndex(['id_idx'], 60)
  assert.equal((await table.indexStats('id_idx')).numIndexedRows, 300)
  assert.equal((await table.stats()).numIndices, 1)
})
await step('prewarm', async () => {
  await table.prewarmIndex('id_idx')
  await table.prewarmData(['id'])
})
await step('tokenize', async () => {
  await table.createIndex('text', { config: Index.fts() })
  const tokens = await table.tokenize('a dog', { column: 'text' })
  assert.deepEqual(
    tokens.map(({ text }) => text),
    ['dog'],
  )
  await table.dropIndex('text_idx')
})
await step('a computed column', async () => {
  await table.addColumns({ computed: [{ name: 'twice', valueSql: 'id * 2' }] })
  const job = await table.refreshColumnAsync('twice')
  await job.wait()
  assert.equal(await (await db.openJob(job.id)).status(), 'finished')
  assert.equal((await db.listJobs())[0].state, 'finished')
  await db.cancelJob(job.id)
  assert.equal(await count(table.query().where('twice = 8')), 1)
})
await step('tags', async () => {
  await tags.create('kept', 1)
  assert.equal(await tags.getVersion('kept'), 1)
  assert.deepEqual(Object.keys(await tags.list()), ['kept'])
  await tags.update('kept', 2)
  await tags.delete('kept')
})
await step('branches', async () => {
  await (await branches.create('draft')).delete('id = 1')
  assert.equal(await (await branches.checkout('draft')).countRows(), 299)
  assert.equal(await table.countRows(), 300)
  assert.deepEqual(Object.keys(await branches.list()), ['draft'])
})

// docs/catalog.md lists these.
for (const [name, call] of Object.entries({
  diff: () => branches.diff('draft'),
  cherryPick: () => branches.cherryPick('draft'),
  cloneTable: () => db.cloneTable('clone', '/source.lance'),
  setLsmWriteSpec: () => table.setLsmWriteSpec({ specType: 'unsharded' }),
  unsetLsmWriteSpec: () => table.unsetLsmWriteSpec(),
  getLsmWriteSpec: () => table.getLsmWriteSpec(),
  checkpointLsm: () => table.checkpointLsm(),
  flushLsm: () => table.flushLsm(),
  compactLsm: () => table.compactLsm(),
  getLsmStats: () => table.getLsmStats(),
}))
  await step(name, () => rejects(call(), /"code":0/))

// The client sends no request for these: it cannot do them remotely, or not with this server.
for (const [name, call] of Object.entries({
  createMaterializedView: () => db.createMaterializedView('view', 'things', { select: { id: 'id' } }),
  openMaterializedView: () => db.openMaterializedView('view'),
  listMaterializedViews: () => db.listMaterializedViews(),
  refreshMaterializedView: () => table.refreshMaterializedView(),
  refreshColumn: () => table.refreshColumn('twice'),
  fetchBlobs: () => table.fetchBlobs('text', [1n]),
  fetchBlobFiles: () => table.fetchBlobFiles('text', [1n]),
  setUnenforcedPrimaryKey: () => table.setUnenforcedPrimaryKey('id'),
  optimize: () => table.optimize(),
  usesV2ManifestPaths: () => table.usesV2ManifestPaths(),
  migrateManifestPathsV2: () => table.migrateManifestPathsV2(),
  dropAllTables: () => db.dropAllTables(),
}))
  await step(name, () => rejects(call(), /not supported|cannot be run on a remote table/))
await step('check out the newest version', () => table.checkoutLatest())
await step('close the writers', () => table.closeLsmWriters())
await step('there are no storage options', async () => {
  assert.equal(await table.initialStorageOptions(), null)
  assert.equal(await table.latestStorageOptions(), null)
})
await step('every method is called', async () => {
  const files = ['lancedb-scenario.mjs', 'lancedb-methods-scenario.mjs']
  const texts = await Promise.all(files.map((file) => readFile(new URL(file, import.meta.url), 'utf8')))
  const called = new Set(texts.flatMap((text) => text.match(/(?<=\.)\w+/g)))
  // Connections and tables are subclasses; a method with an underscore is not public.
  const methods = [db, table, branches, tags].flatMap((object) =>
    Object.getOwnPropertyNames(Object.getPrototypeOf(object)),
  )
  assert.ok(methods.length > 80)
  assert.deepEqual(
    methods.filter((name) => !called.has(name) && name !== 'constructor' && !name.startsWith('_')),
    // Its result is for the client's own reading of the storage of a local database.
    ['getStorageOptions'],
  )
})
await step('drop in the background', async () => (await db.dropTableAsync('things')).wait())
await step('close', () => {
  table.close()
  db.close()
  assert.equal(db.isOpen(), false)
})
process.exit(0)
