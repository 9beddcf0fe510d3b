import type { Socket } from 'node:net'
import { buildConnector } from 'undici'

/** How long an answer may take to be read after a write has failed. */
const readingMs = 1_000

/**
 * Opens connections to an upstream; the certificate of the upstream is always verified. An upstream that has heard
 * enough of an upload answers, and may close the connection at once: a write that then fails would end the
 * connection before the answer, which has arrived, has been read. So on these connections it fails after that.
 */
export function connectorOf(
  options: Omit<buildConnector.BuildOptions, 'rejectUnauthorized'>,
): buildConnector.connector {
  const connect = buildConnector({ ...withoutUndefined(options), rejectUnauthorized: true })
  return (target, callback) =>
    connect(target, (...[error, socket]) => {
      if (error === null) callback(null, failingAfterReading(socket))
      else callback(error, null)
    })
}

/** To node:tls, an authority that is undefined is none at all. */
function withoutUndefined<Options extends object>(options: Options): Options {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Options
}

type Done = (error?: Error | null) => void

function failingAfterReading<Connection extends Socket>(socket: Connection): Connection {
  const write = socket._write.bind(socket)
  const writev = socket._writev?.bind(socket)
  const late =
    (done: Done): Done =>
    (error) =>
      error ? whenRead(socket, () => done(error)) : done()
  socket._write = (chunk, encoding, done) => write(chunk, encoding, late(done))
  if (writev) socket._writev = (chunks, done) => writev(chunks, late(done))
  return socket
}

/** What was read last is the end, or an error: both close the connection. */
function whenRead(socket: Socket, proceed: () => void): void {
  const finish = (): void => {
    clearTimeout(timer)
    socket.off('close', finish)
    proceed()
  }
  const timer = setTimeout(finish, readingMs)
  socket.once('close', finish)
}
