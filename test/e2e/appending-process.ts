// Appends rows to a table with a real client: waits for a line on standard input, and prints its progress.
import { once } from 'node:events'
import { connect, connectNamespace } from '@lancedb/lancedb'

const [client = '', url = '', key = '', namespace = '', name = '', writer = '', count = ''] =
  process.argv.slice(2)
const connection =
  client === 'catalog'
    ? await connectNamespace('rest', { uri: url, headers: { 'x-api-key': key } })
    : await connect('db://any', { apiKey: key, hostOverride: url })
const table = await connection.openTable(name, [namespace])
process.stdout.write('ready\n')
await once(process.stdin, 'data')
for (let number = 0; number < Number(count); number += 1) {
  process.stdout.write(`sent ${number}\n`)
  const { version } = await table.add([{ writer: Number(writer), number }])
  process.stdout.write(`acknowledged ${number} version ${version}\n`)
}
process.exit(0)
