import { EventEmitter, once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { connect as connectTls, type ConnectionOptions } from 'node:tls'
import { onTestFinished } from 'vitest'
import { decodeFields, type Field } from '../../support/hpack.ts'
import {
  errorCodes,
  FrameReader,
  frameTypes,
  maxPayloadBytes,
  preface,
  writeFrame,
  writeHead,
  type Frame,
} from '../../support/http2-frames.ts'

/** How a stream has ended: its END_STREAM, an error code, or the end of the connection. */
type StreamEnd = 'complete' | 'closed' | number

/** A connection of HTTP/2 that sends arbitrary frames. It is closed at the end of the test. */
export interface RawHttp2 {
  /** Returns false once the gateway has closed the connection. */
  write(...frames: readonly Buffer[]): Promise<boolean>
  /** Sends HEADERS with these fields behind `:scheme` and `:authority`; `endsStream` by default. */
  request(streamId: number, fields: readonly Field[], endsStream?: boolean): Promise<boolean>
  data(streamId: number, bytes: Buffer | string, endsStream?: boolean): Promise<boolean>
  /** Sends all of a body, as fast as the gateway takes it, unless it ends the stream before. */
  upload(streamId: number, body: Buffer): Promise<void>
  reset(streamId: number, code?: number): Promise<boolean>
  /** Closes the sending side. */
  end(): void
  /** Resets the connection. */
  destroy(): void
  readonly received: readonly Frame[]
  /** Statuses of all heads of a stream. */
  heads(streamId: number): (number | undefined)[]
  status(streamId: number): number | undefined
  /** Fields of the response, without pseudo-headers. */
  headers(streamId: number): Field[]
  bytes(streamId: number): Buffer
  body(streamId: number): string
  isClosed(): boolean
  waitForStatus(streamId: number): Promise<number>
  /** Of the response. */
  waitForEnd(streamId: number): Promise<StreamEnd>
  /** Error codes of the RST_STREAM frames of a stream. */
  resets(streamId: number): number[]
  /** Error codes of all GOAWAY frames. */
  goaways(): number[]
}

const noHeaderTable = Buffer.of(0, 1, 0, 0, 0, 0)
/** The identifier of SETTINGS_INITIAL_WINDOW_SIZE, and its value without it (RFC 9113, section 6.5.2). */
const initialWindowSize = { id: 4, byDefault: 65_535 }
/** How long a test waits for frames of the gateway. */
const timeoutMs = 20_000

/** The windows of `unread` streams are never enlarged: the client reads 64 KiB of each. With `tls`, it offers h2 by ALPN. */
export async function openRawHttp2(
  url: string,
  unread: readonly number[] = [],
  tls?: ConnectionOptions,
): Promise<RawHttp2> {
  const { hostname, port } = new URL(url)
  const address = { port: Number(port), host: hostname, allowHalfOpen: true }
  const socket = tls ? connectTls({ ...address, ...tls, ALPNProtocols: ['h2'] }) : connect(address)
  onTestFinished(() => void socket.destroy())
  const received: Frame[] = []
  const changes = new EventEmitter().setMaxListeners(0)
  const reader = new FrameReader()
  socket
    .on('error', () => undefined)
    .on('end', () => socket.end())
    .on('close', () => changes.emit('change'))
  await once(socket, tls ? 'secureConnect' : 'connect')
  socket.on('data', (bytes: Buffer) => {
    for (const frame of reader.read(bytes)) {
      received.push(frame)
      const { type, flags, streamId, payload } = frame
      if (type === frameTypes.settings && flags === 0) socket.write(writeFrame(frameTypes.settings, 1))
      if (type !== frameTypes.data || payload.length === 0) continue
      const bytes = Buffer.alloc(4)
      bytes.writeUInt32BE(payload.length)
      for (const id of unread.includes(streamId) ? [0] : [0, streamId])
        socket.write(writeFrame(frameTypes.windowUpdate, 0, id, bytes))
    }
    changes.emit('change')
  })
  /** Looks again whenever frames arrive. */
  const waitFor = async <Value>(find: () => Value | undefined): Promise<Value> => {
    const signal = AbortSignal.timeout(timeoutMs)
    for (;;) {
      const found = find()
      if (found !== undefined) return found
      if (isClosed()) throw new Error('the gateway has closed the connection')
      await once(changes, 'change', { signal })
    }
  }
  const isClosed = (): boolean => socket.destroyed || socket.readableEnded
  const ofStream = (streamId: number): Frame[] => received.filter((frame) => frame.streamId === streamId)
  const write: RawHttp2['write'] = async (...frames) => {
    if (isClosed()) return false
    if (!socket.write(Buffer.concat(frames))) {
      const waiting = new AbortController()
      const options = { signal: waiting.signal }
      const drained = [
        once(socket, 'drain', options),
        once(socket, 'close', options),
        pause(1_000, 0, options),
      ]
      await Promise.race(drained.map((one) => one.catch(() => undefined)))
      waiting.abort()
    }
    return !isClosed()
  }
  const fieldsOf = (streamId: number): Field[][] =>
    ofStream(streamId)
      .filter(({ type }) => type === frameTypes.headers)
      .map(({ payload }) => decodeFields(payload))
  const heads: RawHttp2['heads'] = (streamId) => fieldsOf(streamId).map(readStatus)
  const status: RawHttp2['status'] = (streamId) => heads(streamId).findLast((one) => one !== 100)
  const bytes: RawHttp2['bytes'] = (streamId) =>
    Buffer.concat(
      ofStream(streamId)
        .filter(({ type }) => type === frameTypes.data)
        .map(({ payload }) => payload),
    )
  const findEnd = (streamId: number): StreamEnd | undefined => {
    const frames = ofStream(streamId)
    const isWhole = frames.some(({ type, flags }) => type <= frameTypes.headers && flags % 2 === 1)
    const reset = frames.find(({ type }) => type === frameTypes.rstStream)
    if (isWhole) return 'complete'
    return reset?.payload.readUInt32BE() ?? (isClosed() ? 'closed' : undefined)
  }
  const upload: RawHttp2['upload'] = async (streamId, body) => {
    let sent = 0
    while (sent < body.length) {
      const window = await waitFor(() => {
        const bytes = Math.min(countWindow(received, 0), countWindow(received, streamId)) - sent
        return bytes > 0 || findEnd(streamId) !== undefined ? bytes : undefined
      })
      if (findEnd(streamId) !== undefined) return
      const chunk = body.subarray(sent, sent + Math.min(window, maxPayloadBytes))
      sent += chunk.length
      await write(writeFrame(frameTypes.data, sent === body.length ? 1 : 0, streamId, chunk))
    }
    if (body.length === 0) await write(writeFrame(frameTypes.data, 1, streamId))
  }
  await write(preface, writeFrame(frameTypes.settings, 0, 0, noHeaderTable))
  // The windows of the gateway are in force once its settings are acknowledged.
  await waitFor(() => received.find(({ type, flags }) => type === frameTypes.settings && flags === 0))
  return {
    write,
    request: (streamId, fields, endsStream = true) =>
      write(writeHead(streamId, [[':scheme', 'http'], [':authority', 'g'], ...fields], endsStream)),
    data: (streamId, bytes, endsStream = false) =>
      write(writeFrame(frameTypes.data, endsStream ? 1 : 0, streamId, Buffer.from(bytes))),
    upload,
    reset: (streamId, code = errorCodes.cancel) =>
      write(writeFrame(frameTypes.rstStream, 0, streamId, Buffer.of(0, 0, 0, code))),
    end: () => void socket.end(),
    destroy: () => void socket.resetAndDestroy(),
    received,
    heads,
    status,
    headers: (streamId) =>
      fieldsOf(streamId)
        .at(-1)
        ?.filter(([name]) => !name.startsWith(':')) ?? [],
    bytes,
    body: (streamId) => bytes(streamId).toString(),
    isClosed,
    waitForStatus: (streamId) => waitFor(() => status(streamId)),
    waitForEnd: (streamId) => waitFor(() => findEnd(streamId)),
    resets: (streamId) =>
      ofStream(streamId)
        .filter(({ type }) => type === frameTypes.rstStream)
        .map(({ payload }) => payload.readUInt32BE()),
    goaways: () =>
      received.filter(({ type }) => type === frameTypes.goaway).map(({ payload }) => payload.readUInt32BE(4)),
  }
}

function readStatus(fields: readonly Field[]): number | undefined {
  const text = fields.find(([name]) => name === ':status')?.[1]
  return text === undefined ? undefined : Number(text)
}

/** How many bytes the gateway has allowed so far: on the connection if `streamId` is 0, else on a stream. */
function countWindow(received: readonly Frame[], streamId: number): number {
  const settings = received.filter(({ type, flags }) => type === frameTypes.settings && flags === 0)
  const initial = streamId === 0 ? undefined : settings.map(readInitialWindow).findLast(Boolean)
  return received
    .filter((frame) => frame.type === frameTypes.windowUpdate && frame.streamId === streamId)
    .reduce((sum, { payload }) => sum + payload.readUInt32BE(), initial ?? initialWindowSize.byDefault)
}

function readInitialWindow({ payload }: Frame): number | undefined {
  for (let at = 0; at < payload.length; at += 6)
    if (payload.readUInt16BE(at) === initialWindowSize.id) return payload.readUInt32BE(at + 2)
  return undefined
}
