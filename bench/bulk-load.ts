import { connect } from 'node:net'
import { arrowStreamType } from '../src/catalog-api/headers.ts'
import type { BodySize } from './upstream-contract.ts'
import { uploadPath, type Transfer } from './workloads.ts'

const readBytes = 1024 * 1024
const chunkBytes = 64 * 1024
const stallMs = 60_000

export interface TransferSetup {
  readonly transfer: Transfer
  readonly size: BodySize
  /** Body of an upload, or the query of a download. */
  readonly body: Buffer
  readonly headers: Readonly<Record<string, string>>
}

/** Formats a whole request with a large body, or for one. */
export function formatTransfer({ transfer, size, body, headers }: TransferSetup): Buffer {
  const isUpload = transfer !== 'download'
  const isChunked = transfer === 'upload-chunked'
  const path = isUpload ? uploadPath : `/v1/table/bench$sized-${size}/query`
  const fields = {
    ...headers,
    host: '127.0.0.1',
    'content-type': isUpload ? arrowStreamType : 'application/json',
    ...(isChunked ? { 'transfer-encoding': 'chunked' } : { 'content-length': String(body.length) }),
  }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n`)
  return Buffer.concat([head, ...(isChunked ? chunksOf(body) : [body])])
}

/**
 * Sends a request again and again over one connection until `isOver`, and resolves to the number of complete responses.
 * Rejects if the connection closes before, or if a status is not 200. Reads into one buffer, so that the client costs
 * little on a core that it shares with the upstream.
 */
export function repeatTransfer(port: number, request: Buffer, isOver: () => boolean): Promise<number> {
  return new Promise((resolve, reject) => {
    let complete = 0
    let response = new ResponseEnd()
    const socket = connect({
      port,
      host: '127.0.0.1',
      onread: {
        buffer: Buffer.alloc(readBytes),
        callback(count, buffer) {
          try {
            if (response.read(Buffer.from(buffer.buffer, buffer.byteOffset, count))) next()
          } catch (error) {
            socket.destroy(error instanceof Error ? error : new Error(String(error)))
          }
          return true
        },
      },
    })
    const next = (): void => {
      complete += 1
      response = new ResponseEnd()
      if (!isOver()) socket.write(request)
      else {
        socket.destroy()
        resolve(complete)
      }
    }
    socket.setTimeout(stallMs, () =>
      socket.destroy(new Error(`a transfer made no progress for ${stallMs} ms`)),
    )
    socket.once('error', reject)
    socket.once('close', () => reject(new Error('the connection was closed during a transfer')))
    socket.write(request)
  })
}

/** Finds the end of a response. */
class ResponseEnd {
  #head = ''
  #bodyBytes: number | undefined
  #tail = ''

  /** Whether the response ends with these bytes. Throws if its status is not 200. */
  read(bytes: Buffer): boolean {
    if (this.#bodyBytes !== undefined) return this.#readBody(bytes)
    this.#head += bytes.toString('latin1')
    const end = this.#head.indexOf('\r\n\r\n')
    if (end < 0) return false
    const head = this.#head.slice(0, end)
    if (!head.startsWith('HTTP/1.1 200 ')) throw new Error(`unexpected response: ${head.split('\r\n')[0]}`)
    this.#bodyBytes = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? NaN)
    return this.#readBody(Buffer.from(this.#head.slice(end + 4), 'latin1'))
  }

  #readBody(bytes: Buffer): boolean {
    if (this.#bodyBytes === undefined) return false
    this.#bodyBytes -= bytes.length
    if (!Number.isNaN(this.#bodyBytes)) return this.#bodyBytes <= 0
    this.#tail = (this.#tail + bytes.toString('latin1', Math.max(0, bytes.length - 7))).slice(-7)
    return this.#tail === '\r\n0\r\n\r\n'
  }
}

function chunksOf(body: Buffer): readonly Buffer[] {
  const parts: Buffer[] = []
  for (let at = 0; at < body.length; at += chunkBytes) {
    const chunk = body.subarray(at, at + chunkBytes)
    parts.push(Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n'))
  }
  return [...parts, Buffer.from('0\r\n\r\n')]
}
