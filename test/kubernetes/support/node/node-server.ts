import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

export interface NodeServer {
  readonly port: number
  close(): Promise<void>
}

/**
 * Starts the server that an API server asks for logs of containers. It authenticates nobody, and uses the certificate of
 * the API server.
 */
export async function startNodeServer(certificateFolder: string, logFolder: string): Promise<NodeServer> {
  const [cert, key] = await Promise.all(
    ['apiserver.crt', 'apiserver.key'].map((name) => readFile(join(certificateFolder, name))),
  )
  const server = createServer({ cert, key }, ({ url = '' }, response) => {
    const [, namespace, pod, container] =
      /^\/containerLogs\/([\w.-]+)\/([\w.-]+)\/([\w.-]+)(?:\?|$)/.exec(url) ?? []
    if (container === undefined) {
      response.writeHead(404).end()
      return
    }
    createReadStream(join(logFolder, `${namespace}_${pod}_${container}.log`))
      .on('error', () => response.writeHead(404).end())
      .pipe(response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.closeAllConnections()
      await once(server.close(), 'close')
    },
  }
}
