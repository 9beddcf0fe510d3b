// An upstream that discards request bodies and generates response bodies of the size given in a context header. Prints
// its URL, and closes when its standard input ends.
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'

const chunk = Buffer.alloc(256 * 1024, 'arrow')

const server = createServer((request, response) => {
  let received = 0
  request.on('data', (chunk: Buffer) => (received += chunk.length))
  request.once('end', () => {
    let left = Number(request.headers['x-catalog-ctx-bytes'] ?? 0)
    if (left === 0) {
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ received }))
      return
    }
    response.setHeader('content-type', 'application/vnd.apache.arrow.file')
    const send = (): void => {
      while (left > 0 && response.write(chunk.subarray(0, Math.min(left, chunk.length)))) left -= chunk.length
      if (left > 0) {
        left -= chunk.length
        response.once('drain', send)
      } else {
        response.end()
      }
    }
    send()
  })
})

server.listen(0, '127.0.0.1')
await once(server, 'listening')
process.stdout.write(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
process.stdin.resume().once('end', () => {
  server.closeAllConnections()
  server.close()
})
