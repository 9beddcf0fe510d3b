import { EventEmitter, once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** A connection that sends arbitrary bytes at any time. It is closed at the end of the test. */
export interface RawConnection {
  readonly socket: Socket
  write(bytes: string | Buffer): void
  received(): string
  isClosed(): boolean
  /** Resolves with everything received, once it matches. */
  waitFor(pattern: RegExp): Promise<string>
  /** Resolves with everything received, once the gateway has closed the connection. */
  waitForEnd(): Promise<string>
}

/** Connects to the gateway, which may close or reset the connection. */
export function openRawConnection(url: string): RawConnection {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  onTestFinished(() => void socket.destroy())
  let received = ''
  let isClosed = false
  // Not by polls: a thousand connections would keep the event loop busy with them.
  const changes = new EventEmitter()
  socket.setEncoding('latin1').on('data', (text: string) => {
    received += text
    changes.emit('change')
  })
  socket
    .on('error', () => undefined)
    .on('close', () => {
      isClosed = true
      changes.emit('change')
    })
  async function waitUntil(isReached: () => boolean, missing: string): Promise<string> {
    const signal = AbortSignal.timeout(20_000)
    while (!isReached()) {
      await once(changes, 'change', { signal }).catch(() => {
        throw new Error(`${missing} ${JSON.stringify(received)}`)
      })
    }
    return received
  }
  return {
    socket,
    write: (bytes) => void socket.write(bytes),
    received: () => received,
    isClosed: () => isClosed,
    waitFor: (pattern) => waitUntil(() => pattern.test(received), `not ${pattern} in`),
    waitForEnd: () => waitUntil(() => isClosed, 'still open after'),
  }
}
