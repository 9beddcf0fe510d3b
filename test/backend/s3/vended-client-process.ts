import { connectNamespace } from '@lancedb/lancedb'

/** A client of the URL and the key in its arguments, which makes a table, opens it again and adds to it. */
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
