import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { connect } from '@lancedb/lancedb'
import type { Table, tableFromIPC } from 'apache-arrow'
import { streamOf } from './sample-tables.ts'

/** The client loses the rows of a table created by another instance of the library than its own (CommonJS). */
const arrow = createRequire(import.meta.url)('apache-arrow') as { tableFromIPC: typeof tableFromIPC }

const description = { version: 1, location: 'orders.lance', schema: { fields: [] } }

/** Captures the body that the engine's remote client sends to create a table: an Arrow stream with LZ4 buffers. */
export async function remoteUpload(table: Table): Promise<Uint8Array> {
  const bodies: Buffer[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      if (request.url?.includes('/create')) bodies.push(Buffer.concat(chunks))
      response.setHeader('content-type', 'application/json').end(JSON.stringify(description))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const { port } = server.address() as AddressInfo
    const database = await connect('db://sales', { apiKey: 'key', hostOverride: `http://127.0.0.1:${port}` })
    await database.createTable('orders', arrow.tableFromIPC(streamOf(table)))
    database.close()
  } finally {
    server.closeAllConnections()
    server.close()
  }
  const [body] = bodies
  if (body === undefined) throw new Error('the client sent no table')
  return body
}
