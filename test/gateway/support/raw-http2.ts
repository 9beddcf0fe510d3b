import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { connect as connectTls, type ConnectionOptions } from 'node:tls'
import { onTestFinished } from 'vitest'
import {
  errorCodes,
  FrameReader,
  frameTypes,
  preface,
  writeFrame,
  writeHead,
  type Field,
  type Frame,
} from '../../support/http2-frames.ts'
import { eventually } from './waiting.ts'

/** How a stream has ended: its END_STREAM, an error code, or the end of the connection. */
type StreamEnd = 'complete' | 'closed' | number

/** A connection of HTTP/2 that sends arbitrary frames. It is closed at the end of the test. */
export interface RawHttp2 {
  /** Returns false once the gateway has closed the connection. */
  write(...frames: readonly Buffer[]): Promise<boolean>
  /** Sends HEADERS with these fields behind `:scheme` and `:authority`; `endsStream` by default. */
  request(streamId: number, fields: readonly Field[], endsStream?: boolean): Promise<boolean>
  data(streamId: number, bytes: Buffer | string, endsStream?: boolean): Promise<boolean>
  reset(streamId: number, code?: number): Promise<boolean>
  /** Closes the sending side. */
  end(): void
  /** Resets the connection. */
  destroy(): void
  readonly received: readonly Frame[]
  /** Statuses of all heads of a stream. */
  heads(streamId: number): (number | undefined)[]
  status(streamId: number): number | undefined
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
/** `:status` of the static table (RFC 7541, appendix A), from index 8 on. */
const statuses = [200, 204, 206, 304, 400, 404, 500]

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
  const reader = new FrameReader()
  socket.on('error', () => undefined).on('end', () => socket.end())
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
  })
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
  const heads: RawHttp2['heads'] = (streamId) =>
    ofStream(streamId)
      .filter(({ type }) => type === frameTypes.headers)
      .map(({ payload }) => readStatus(payload))
  const status: RawHttp2['status'] = (streamId) => heads(streamId).findLast((one) => one !== 100)
  const findEnd = (streamId: number): StreamEnd | undefined => {
    const frames = ofStream(streamId)
    const isWhole = frames.some(({ type, flags }) => type <= frameTypes.headers && flags % 2 === 1)
    const reset = frames.find(({ type }) => type === frameTypes.rstStream)
    if (isWhole) return 'complete'
    return reset?.payload.readUInt32BE() ?? (isClosed() ? 'closed' : undefined)
  }
  await write(preface, writeFrame(frameTypes.settings, 0, 0, noHeaderTable))
  // The windows of the gateway are in force once its settings are acknowledged.
  await eventually(() => {
    if (!received.some(({ type, flags }) => type === frameTypes.settings && flags === 0))
      throw new Error('no settings')
  })
  return {
    write,
    request: (streamId, fields, endsStream = true) =>
      write(writeHead(streamId, [[':scheme', 'http'], [':authority', 'g'], ...fields], endsStream)),
    data: (streamId, bytes, endsStream = false) =>
      write(writeFrame(frameTypes.data, endsStream ? 1 : 0, streamId, Buffer.from(bytes))),
    reset: (streamId, code = errorCodes.cancel) =>
      write(writeFrame(frameTypes.rstStream, 0, streamId, Buffer.of(0, 0, 0, code))),
    end: () => void socket.end(),
    destroy: () => void socket.resetAndDestroy(),
    received,
    heads,
    status,
    body: (streamId) =>
      Buffer.concat(
        ofStream(streamId)
          .filter(({ type }) => type === frameTypes.data)
          .map(({ payload }) => payload),
      ).toString(),
    isClosed,
    waitForStatus: (streamId) =>
      eventually(() => {
        const found = status(streamId)
        if (found === undefined) throw new Error(`no response; closed: ${isClosed()}`)
        return found
      }),
    waitForEnd: (streamId) =>
      eventually(() => {
        const end = findEnd(streamId)
        if (end === undefined) throw new Error('the stream is open')
        return end
      }),
    resets: (streamId) =>
      ofStream(streamId)
        .filter(({ type }) => type === frameTypes.rstStream)
        .map(({ payload }) => payload.readUInt32BE()),
    goaways: () =>
      received.filter(({ type }) => type === frameTypes.goaway).map(({ payload }) => payload.readUInt32BE(4)),
  }
}

/** The first field of a block is its status: an index, or a literal with three digits in the code of Huffman. */
function readStatus(block: Buffer): number | undefined {
  const at = block.findIndex((byte) => byte < 0x20 || byte >= 0x40)
  const first = block[at] ?? 0
  if (first >= 0x80) return statuses[first - 0x88]
  const length = (block[at + 1] ?? 0) & 0x7f
  const text = block.subarray(at + 2, at + 2 + length)
  if ((block[at + 1] ?? 0) < 0x80) return Number(text.toString())
  let bits = [...text].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  let digits = ''
  while (digits.length < 3) {
    const short = Number.parseInt(bits.slice(0, 5), 2)
    const isShort = short <= 2
    digits += isShort ? short : Number.parseInt(bits.slice(0, 6), 2) - 0b011001 + 3
    bits = bits.slice(isShort ? 5 : 6)
  }
  return Number(digits)
}
