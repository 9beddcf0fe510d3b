import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { openRawConnection } from '../../gateway/support/raw-connection.ts'
import { useSharedGateway } from '../../gateway/support/running-gateway.ts'
import { isThorough } from '../../support/thorough.ts'
import { arrowStart } from '../../support/arrow-upload.ts'
import { eventually } from '../../support/eventually.ts'

// Uploads are read into memory that is reused. However clients and catalogs misbehave, no upload may contain bytes of
// another one, and each complete upload arrives as it was sent.
const shared = useSharedGateway()
const mebibyte = 1024 * 1024

interface Upload {
  readonly bytes: number
  /** Sizes of chunks in turn; undefined for a body of known length. */
  readonly chunkBytes: readonly number[] | undefined
  /** How much the client writes at a time. */
  readonly writeBytes: number
  /** Where the client resets its connection; 1 for a complete upload. */
  readonly sentRatio: number
  readonly catalog: 'reads' | 'reads slowly' | 'refuses at once' | 'resets in the middle'
  /** Uploads before this one on the same connection. */
  readonly repeats: number
}

const uploads = fc.record<Upload>({
  bytes: fc.oneof(fc.constantFrom(1, 64 * 1024, mebibyte), fc.integer({ min: 1, max: 5 * mebibyte })),
  chunkBytes: fc.option(fc.array(fc.integer({ min: 1, max: 300_000 }), { minLength: 3, maxLength: 9 }), {
    nil: undefined,
  }),
  writeBytes: fc.constantFrom(10_000, 65_536, 700_000, 8 * mebibyte),
  sentRatio: fc.constantFrom(1, 1, 1, 0.3, 0.9),
  catalog: fc.constantFrom('reads', 'reads', 'reads slowly', 'refuses at once', 'resets in the middle'),
  repeats: fc.nat(2),
})

/** Bytes that identify their upload and their offset in it. */
function writtenBody(index: number, { bytes }: Upload): Buffer {
  const body = Buffer.alloc(bytes, index + 1)
  for (let at = 0; at + 4 < bytes; at += 1024) body.writeUInt32LE(at, at)
  return Buffer.concat([arrowStart, body])
}

function frame(body: Buffer, { chunkBytes }: Upload): { readonly header: string; readonly bytes: Buffer } {
  if (chunkBytes === undefined) return { header: `content-length: ${body.length}`, bytes: body }
  const parts: Buffer[] = []
  for (let at = 0, count = 0; at < body.length; count += 1) {
    const chunk = body.subarray(at, at + (chunkBytes[count % chunkBytes.length] ?? 1_000))
    // At most a hundred small chunks.
    const data = count > 100 ? body.subarray(at) : chunk
    parts.push(Buffer.from(`${data.length.toString(16)}\r\n`), data, Buffer.from('\r\n'))
    at += data.length
  }
  parts.push(Buffer.from('0\r\n\r\n'))
  return { header: 'transfer-encoding: chunked', bytes: Buffer.concat(parts) }
}

/** Sends the upload. Resolves with the status of the response; undefined if the client or the gateway left before. */
async function send(
  target: string,
  index: number,
  upload: Upload,
  url: string,
  key: string,
): Promise<string | undefined> {
  const connection = openRawConnection(url)
  const { socket } = connection
  let status: string | undefined
  for (let repeat = 0; repeat <= upload.repeats; repeat += 1) {
    const { header, bytes } = frame(writtenBody(index, upload), upload)
    const isLast = repeat === upload.repeats
    const end = isLast ? Math.ceil(bytes.length * upload.sentRatio) : bytes.length
    const type = 'content-type: application/vnd.apache.arrow.stream'
    connection.write(
      `POST ${target} HTTP/1.1\r\nhost: g\r\nx-api-key: ${key}\r\n${type}\r\n${header}\r\n\r\n`,
    )
    for (let at = 0; at < end && socket.writable; at += upload.writeBytes) {
      const isFull = !socket.write(bytes.subarray(at, Math.min(end, at + upload.writeBytes)))
      if (isFull) await eventually(() => expect(socket.writableNeedDrain && socket.writable).toBe(false))
    }
    if (end < bytes.length) {
      socket.resetAndDestroy()
      return undefined
    }
    const responses = await eventually(() => {
      const found = [...connection.received().matchAll(/HTTP\/1\.1 (\d{3})/g)]
      if (found.length <= repeat && !connection.isClosed()) throw new Error('no response yet')
      return found
    })
    status = responses[repeat]?.[1]
    if (status !== '200') return status
  }
  return status
}

it('an upload never contains bytes of another one', async () => {
  const { gateway, upstream } = shared
  let runs = 0
  const property = fc.asyncProperty(fc.array(uploads, { minLength: 4, maxLength: 12 }), async (all) => {
    const run = (runs += 1)
    const foreign: string[] = []
    const complete: string[] = []
    upstream.handler = (_arrival, response, request) => {
      const [, before, index] = /\/run(\d+)-(\d+)\//.exec(request.url ?? '')?.map(Number) ?? []
      const upload = all[index ?? 0]
      // Uploads of clients that have left may arrive in the next run.
      if (before !== run || index === undefined || upload === undefined) {
        request.destroy()
        return
      }
      if (upload.catalog === 'refuses at once') {
        response.writeHead(409, { 'content-type': 'application/json' }).end('{}')
        return
      }
      const body = writtenBody(index, upload)
      const hash = createHash('sha256')
      let at = 0
      request.on('data', (chunk: Buffer) => {
        if (!chunk.equals(body.subarray(at, at + chunk.length))) foreign.push(`upload ${index} at ${at}`)
        at += chunk.length
        hash.update(chunk)
        if (upload.catalog === 'resets in the middle' && at > body.length / 2) request.destroy()
        if (upload.catalog !== 'reads slowly') return
        request.pause()
        setTimeout(() => request.resume(), 2)
      })
      request.on('error', () => undefined)
      request.on('end', () => {
        complete.push(`${index} ${hash.digest('hex')}`)
        response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
      })
    }
    const statuses = await Promise.all(
      all.map((upload, index) =>
        send(`/v1/table/run${run}-${index}/insert`, index, upload, gateway.url, gateway.key('dev')),
      ),
    )
    expect(foreign).toEqual([])
    all.forEach((upload, index) => {
      if (!upload.catalog.startsWith('reads') || upload.sentRatio < 1) return
      const digest = createHash('sha256').update(writtenBody(index, upload)).digest('hex')
      expect(statuses[index]).toBe('200')
      expect(complete.filter((each) => each === `${index} ${digest}`)).toHaveLength(upload.repeats + 1)
    })
  })
  await fc.assert(property, { numRuns: isThorough ? 60 : 3, endOnFailure: true })
})
