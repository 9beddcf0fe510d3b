import { connectNamespace } from '@lancedb/lancedb'

/** Usage: URL KEY STEPS... Creates a table, opens it again and appends to it, as a client of that URL with that key. */
const [uri = '', key = '', ...steps] = process.argv.slice(2)
const client = await connectNamespace('rest', { uri, headers: { 'x-api-key': key } })
for (const step of steps) {
  try {
    if (step === 'create') await client.createTable('t', [{ id: 1 }], ['a'])
    const table = await client.openTable('t', ['a'])
    if (step === 'add') await table.add([{ id: 2 }])
    console.log(`${step}: ${await table.countRows()} rows`)
  } catch (error) {
    console.log(`${step}: ${String(error)}`)
  }
}
process.exit(0)
