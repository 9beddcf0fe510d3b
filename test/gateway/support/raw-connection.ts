import { connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { eventually } from '../../support/eventually.ts'

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
  socket.setEncoding('latin1').on('data', (text: string) => (received += text))
  socket.on('error', () => undefined).on('close', () => (isClosed = true))
  return {
    socket,
    write: (bytes) => void socket.write(bytes),
    received: () => received,
    isClosed: () => isClosed,
    waitFor: (pattern) =>
      eventually(() => {
        if (!pattern.test(received)) throw new Error(`not ${pattern} in ${JSON.stringify(received)}`)
        return received
      }),
    waitForEnd: () =>
      eventually(() => {
        if (!isClosed) throw new Error(`still open after ${JSON.stringify(received)}`)
        return received
      }),
  }
}
