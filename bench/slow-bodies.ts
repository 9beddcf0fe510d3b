import { measureBeside } from './slow-clients.ts'

const large = Buffer.alloc(64 * 1024 * 1024)

await measureBeside({
  script: './slow-bodies-process.ts',
  count: 200,
  what: '200 uploads and 200 downloads of 64 KiB/s',
  handler(arrival, response, request) {
    request.resume()
    if (arrival.target.endsWith('/query')) response.end(large)
    else request.once('end', () => response.end('{}'))
  },
})
