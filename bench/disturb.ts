import { once } from 'node:events'
import { connect } from 'node:net'
import { repeatTransfer } from './bulk-load.ts'
import { refusedPath } from './workloads.ts'

const connections = 600
const atOnce = 200
const responseMs = 60_000

export interface Disturbance {
  readonly headers: Readonly<Record<string, string>>
  /** Requests with large bodies, one of each. */
  readonly transfers: readonly Buffer[]
}

/**
 * Sends a server other traffic, as between the requests of a measurement in real life: large bodies in both directions,
 * new connections and refusals. Rejects if a transfer fails.
 */
export async function disturb(port: number, { headers, transfers }: Disturbance): Promise<void> {
  await Promise.all(transfers.map((transfer) => repeatTransfer(port, transfer, () => true)))
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const request = `POST ${refusedPath} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 0\r\n${lines.join('')}\r\n`
  for (let opened = 0; opened < connections; opened += atOnce) {
    await Promise.all(Array.from({ length: atOnce }, () => requestOnce(port, request)))
  }
}

async function requestOnce(port: number, request: string): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1' })
  socket.write(request)
  await once(socket, 'data', { signal: AbortSignal.timeout(responseMs) })
  socket.destroy()
}
