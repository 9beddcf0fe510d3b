import { encodeFields, type Field } from './hpack.ts'

/** Types of frames (RFC 9113, section 6). */
export const frameTypes = {
  data: 0,
  headers: 1,
  priority: 2,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const

/** Of DATA and HEADERS. `endStream` also means an acknowledgement: of SETTINGS and PING. */
const flags = { endStream: 1, endHeaders: 4 } as const

/** Error codes (RFC 9113, section 7). */
export const errorCodes = {
  noError: 0,
  protocolError: 1,
  refusedStream: 7,
  cancel: 8,
  enhanceYourCalm: 11,
} as const

export const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

const headerBytes = 9
/** Of a frame, unless a peer announces more. */
export const maxPayloadBytes = 16_384

export interface Frame {
  readonly type: number
  readonly flags: number
  readonly streamId: number
  readonly payload: Buffer
}

export function writeFrame(type: number, flags = 0, streamId = 0, payload: Buffer = Buffer.alloc(0)): Buffer {
  const frame = Buffer.alloc(headerBytes + payload.length)
  frame.writeUIntBE(payload.length, 0, 3)
  frame.writeUInt8(type, 3)
  frame.writeUInt8(flags, 4)
  frame.writeUInt32BE(streamId, 5)
  payload.copy(frame, headerBytes)
  return frame
}

/** HEADERS, and CONTINUATION for what does not fit into one frame. */
export function writeHead(streamId: number, fields: readonly Field[], endsStream: boolean): Buffer {
  const block = encodeFields(fields)
  const frames: Buffer[] = []
  for (let at = 0; at === 0 || at < block.length; at += maxPayloadBytes) {
    const isLast = at + maxPayloadBytes >= block.length
    const ofStream = at === 0 && endsStream ? flags.endStream : 0
    frames.push(
      writeFrame(
        at === 0 ? frameTypes.headers : frameTypes.continuation,
        ofStream + (isLast ? flags.endHeaders : 0),
        streamId,
        block.subarray(at, at + maxPayloadBytes),
      ),
    )
  }
  return Buffer.concat(frames)
}

/** Collects the bytes of a side of a connection, and returns each frame once, when all of it has arrived. */
export class FrameReader {
  #unread: Buffer = Buffer.alloc(0)

  read(bytes: Buffer): Frame[] {
    this.#unread = Buffer.concat([this.#unread, bytes])
    const frames: Frame[] = []
    while (this.#unread.length >= headerBytes) {
      const end = headerBytes + this.#unread.readUIntBE(0, 3)
      if (this.#unread.length < end) break
      frames.push({
        type: this.#unread.readUInt8(3),
        flags: this.#unread.readUInt8(4),
        streamId: this.#unread.readUInt32BE(5),
        payload: this.#unread.subarray(headerBytes, end),
      })
      this.#unread = this.#unread.subarray(end)
    }
    return frames
  }
}
