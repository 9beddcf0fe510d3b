import type { Readable } from 'node:stream'
import { ClientDisconnected } from '../client-disconnected.ts'
import type { NodeResponse } from '../../node-http/node-response.ts'

/** Sends the chunks of a body as they arrive. Rejects if the client disconnects, or with the error of the stream. */
export async function sendBody(body: Readable, response: NodeResponse): Promise<void> {
  for await (const chunk of body) {
    if (Buffer.isBuffer(chunk) && !response.write(chunk)) await canWrite(response)
    if (response.isDestroyed) throw new ClientDisconnected('the client closed the connection')
  }
  response.end()
}

function canWrite(response: NodeResponse): Promise<void> {
  return new Promise((resolve) => {
    const resume = (): void => {
      response.onDrain.delete(resume)
      response.onClose.delete(resume)
      resolve()
    }
    response.onDrain.add(resume)
    response.onClose.add(resume)
    if (response.isDestroyed) resume()
  })
}
