/** What a user does with a generated TypeScript client: scenario.js ARROW_FILE URL KEY */
import { readFile } from 'node:fs/promises'
import { Configuration, NamespaceApi, ResponseError, TableApi } from './index.js'

const [file = '', basePath = '', apiKey = ''] = process.argv.slice(2)
const configuration = new Configuration({ basePath, apiKey })
const namespaces = new NamespaceApi(configuration)
const tables = new TableApi(configuration)
const rows = new Blob([await readFile(file)])
const id = 'typescript$people'

async function step(name: string, action: () => Promise<unknown>): Promise<void> {
  try {
    await action()
    console.log('ok', name)
  } catch (error) {
    console.log('failed', `${name}: ${String(error)}`.replaceAll('\n', ' '))
  }
}

function expect(found: unknown, expected: unknown): void {
  if (found !== expected) throw new Error(`expected ${String(expected)}, found ${String(found)}`)
}

await step('create a namespace', () =>
  namespaces.createNamespace({ id: 'typescript', createNamespaceRequest: {} }),
)
await step('create a table', () => tables.createTable({ id, body: rows }))
await step('insert', async () =>
  expect((await tables.insertIntoTable({ id, body: rows })).numInsertedRows, 3),
)
await step('count', async () => expect(await tables.countTableRows({ id, countTableRowsRequest: {} }), 6))
await step('describe', async () => {
  const describeTableRequest = { loadDetailedMetadata: true }
  expect((await tables.describeTable({ id, describeTableRequest })).version, 2)
})
await step('query', async () => {
  const queryTableRequest = { k: 3, vector: { singleVector: [0.1, 0.2] }, columns: { columnNames: ['id'] } }
  const found = await tables.queryTable({ id, queryTableRequest })
  expect((await found.text()).slice(0, 6), 'ARROW1')
})
await step('update', async () => {
  const updateTableRequest = { predicate: 'id = 1', updates: [['id', 'id + 10']] }
  expect((await tables.updateTable({ id, updateTableRequest })).updatedRows, 2)
})
await step('add a column', async () => {
  const alterTableAddColumnsRequest = { newColumns: [{ name: 'twice', expression: 'id * 2' }] }
  expect((await tables.alterTableAddColumns({ id, alterTableAddColumnsRequest })).version, 4)
})
await step('list versions', async () => {
  const { versions } = await tables.listTableVersions({ id })
  expect((versions[0]?.timestampMillis ?? 0) > 2 ** 40, true)
})
await step('list tables', async () =>
  expect((await namespaces.listTables({ id: 'typescript', limit: 1 })).tables.join(), 'people'),
)
await step('an error has its code', async () => {
  try {
    await tables.describeTable({ id: 'typescript$missing', describeTableRequest: {} })
  } catch (error) {
    if (!(error instanceof ResponseError)) throw error
    expect((await error.response.json()).code, 4)
    return
  }
  throw new Error('expected an error')
})
await step('drop the table', () => tables.dropTable({ id }))
await step('drop the namespace', () =>
  namespaces.dropNamespace({ id: 'typescript', dropNamespaceRequest: {} }),
)
