// What a user does with LanceDB in JavaScript: lancedb-scenario.mjs FOLDER_OF_MODULES URL KEY
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const [folder = '', url = '', key = ''] = process.argv.slice(2)
const require = createRequire(join(folder, 'index.js'))
const { connect, connectNamespace, Index, MatchQuery } = require('@lancedb/lancedb')

/** Runs a step of a scenario, and prints how it ended. A failed one does not end the scenario. */
async function step(name, action) {
  try {
    await action()
    console.log(`ok ${name}`)
  } catch (error) {
    console.log(`failed ${name}: ${String(error).replaceAll('\n', ' ').slice(0, 500)}`)
  }
}

function people(first, count) {
  return Array.from({ length: count }, (_, index) => {
    const id = first + index
    return { id, text: `person ${id}`, vector: [id, 1, 1, 1] }
  })
}

const idsOf = (rows) => rows.map(({ id }) => Number(id))
const remote = await connect('db://any', { apiKey: key, hostOverride: url })
let table

await step('create', async () => {
  table = await remote.createTable('people', people(0, 300), { mode: 'overwrite' })
})
await step('list', async () => assert.deepEqual(await remote.tableNames(), ['people']))
await step('add', () => table.add(people(300, 2)))
await step('count', async () => assert.equal(await table.countRows('id >= 299'), 3))
await step('search', async () => {
  const rows = await table.search([50, 1, 1, 1]).where('id > 40').limit(2).toArray()
  assert.equal(idsOf(rows)[0], 50)
})
await step('query', async () => {
  const rows = await table.query().where('id < 3').select(['id']).toArray()
  assert.deepEqual(idsOf(rows), [0, 1, 2])
})
await step('select expressions', async () => {
  const [row] = await table.query().where('id = 4').select({ double: 'id * 2' }).toArray()
  assert.equal(Number(row.double), 8)
})
await step('update', async () => {
  await table.update({ where: 'id = 1', values: { text: 'Ada' } })
  assert.equal(await table.countRows("text = 'Ada'"), 1)
})
await step('delete', async () => {
  await table.delete('id = 2')
  assert.equal(await table.countRows(), 301)
})
await step('merge', async () => {
  await table.mergeInsert('id').whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(people(301, 2))
  assert.equal(await table.countRows(), 302)
})
await step('add, rename and drop a column', async () => {
  await table.addColumns([{ name: 'twice', valueSql: 'id * 2' }])
  await table.alterColumns([{ path: 'twice', rename: 'double' }])
  await table.dropColumns(['double'])
  const { fields } = await table.schema()
  assert.deepEqual(
    fields.map(({ name }) => name),
    ['id', 'text', 'vector'],
  )
})
await step('create indices, and again', async () => {
  for (let round = 0; round < 2; round += 1) {
    await table.createIndex('id', { config: Index.btree() })
    await table.createIndex('text', { config: Index.fts() })
    await table.createIndex('vector', { config: Index.ivfFlat({ numPartitions: 2 }) })
  }
  const indices = await table.listIndices()
  assert.deepEqual(indices.map(({ columns }) => columns[0]).toSorted(), ['id', 'text', 'vector'])
})
await step('search text', async () => {
  const rows = await table.query().fullTextSearch(new MatchQuery('Ada', 'text')).limit(9).toArray()
  assert.deepEqual(idsOf(rows), [1])
})
await step('search text with a filter', async () => {
  const rows = await table.search('person', 'fts').where('id = 7').limit(9).toArray()
  assert.deepEqual(idsOf(rows), [7])
})
await step('tag, check out and restore', async () => {
  await (await table.tags()).create('first', 1)
  await table.checkout('first')
  assert.equal(await table.countRows(), 300)
  await table.restore()
  assert.equal(await table.countRows(), 300)
})
await step('versions', async () => assert.ok((await table.listVersions()).length > 5))
await step('namespaces', async () => {
  await remote.createNamespace(['teams'])
  await remote.createTable('people', people(0, 1), ['teams'])
  assert.deepEqual(await remote.tableNames(['teams']), ['people'])
  await remote.dropTable('people', ['teams'])
  await remote.dropNamespace(['teams'])
})
await step('a missing table', () => assert.rejects(remote.openTable('missing'), /not found/))
await step('drop', async () => {
  await remote.dropTable('people')
  assert.deepEqual(await remote.tableNames(), [])
})

// Writes files itself, and commits through the catalog.
const catalog = await connectNamespace('rest', { uri: url, headers: { 'x-api-key': key } })
await step('catalog client: create', async () => {
  await catalog.createNamespace(['lake'])
  table = await catalog.createTable('people', people(0, 3), ['lake'])
})
await step('catalog client: add', async () => {
  await table.add(people(3, 2))
  assert.equal(await table.countRows(), 5)
})
await step('catalog client: delete', async () => {
  await table.delete('id = 1')
  assert.equal(await table.countRows(), 4)
})
process.exit(0)
