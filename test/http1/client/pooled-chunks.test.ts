import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { waitUntilStable } from '../../gateway/support/waiting.ts'
import { dispatch, scripted, type Scripted } from './scripted-upstream.ts'

const mebibyte = 1024 * 1024
const bodies = Array.from({ length: 4 }, () => randomBytes(3 * mebibyte + 17))

/**
 * Resolves with the body of a response that is read as late as possible: pooled chunks are read long after they
 * arrived, and all others at the end.
 */
function readLate(upstream: Scripted, index: number): Promise<{ readonly body: Promise<Buffer> }> {
  return new Promise((resolve, reject) => {
    const chunks: Promise<Buffer>[] = []
    dispatch(
      upstream,
      {
        onResponseData: (chunk, release) =>
          chunks.push(release ? late(chunk, release) : Promise.resolve(chunk)),
        onResponseEnd(last) {
          if (last !== undefined) chunks.push(Promise.resolve(Buffer.from(last)))
          resolve({ body: Promise.all(chunks).then((all) => Buffer.concat(all)) })
        },
        onResponseError: reject,
      },
      `/${index}`,
    )
  })
}

async function late(chunk: Buffer, release: () => void): Promise<Buffer> {
  for (let batches = 0; batches < 20; batches += 1) await nextIteration()
  const seen = Buffer.from(chunk)
  release()
  return seen
}

function writeSized(socket: Socket, body: Buffer): void {
  socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n`)
  socket.write(body)
}

/** In chunks of any size, also smaller than the framing between them. */
function writeChunked(socket: Socket, body: Buffer): void {
  const written: Buffer[] = [Buffer.from('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n')]
  for (let at = 0, size = 1; at < body.length; at += size, size = (size * 7) % 99_991) {
    const chunk = body.subarray(at, at + size)
    written.push(Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n'))
  }
  socket.write(Buffer.concat([...written, Buffer.from('0\r\n\r\n')]))
}

it.each([
  ['with a length', writeSized],
  ['in chunks', writeChunked],
])('chunks of a response %s are unchanged until they are released', async (_what, write) => {
  const upstream = await scripted((socket, text) =>
    write(socket, bodies[Number(text.slice('GET /'.length).split(' ')[0])] ?? Buffer.alloc(0)),
  )
  const areExact = bodies.map(async (body, index) => {
    const found: Promise<Buffer>[] = []
    // The next response begins while the last chunks of this one are still in use.
    for (let round = 0; round < 4; round += 1) found.push((await readLate(upstream, index)).body)
    return (await Promise.all(found)).every((read) => read.equals(body))
  })
  expect(await Promise.all(areExact)).toEqual(bodies.map(() => true))
  expect(upstream.sockets).toHaveLength(bodies.length)
})

/** Resolves at the end of a response whose last chunk is never released, with whether it was a pooled one. */
function retainLastChunk(upstream: Scripted): Promise<boolean> {
  return new Promise((resolve, reject) => {
    let inUse = 0
    let hasEnded = false
    dispatch(upstream, {
      onResponseData(_chunk, release) {
        if (release === undefined) return
        inUse += 1
        setTimeout(() => {
          if (hasEnded) return
          inUse -= 1
          release()
        })
      },
      onResponseEnd() {
        hasEnded = true
        resolve(inUse > 0)
      },
      onResponseError: reject,
    })
  })
}

it('a response does not wait for chunks of the one before it on its connection', async () => {
  const body = randomBytes(4 * mebibyte)
  const upstream = await scripted((socket) => writeSized(socket, body))
  const arePooled: boolean[] = []
  for (let response = 0; response < 8; response += 1) {
    arePooled.push(await retainLastChunk(upstream))
    expect((await upstream.get()).body.equals(body)).toBe(true)
  }
  expect(arePooled).toContain(true)
  expect(upstream.sockets).toHaveLength(1)
})

it('reads at most one buffer while no chunk is released', async () => {
  const upstream = await scripted((socket) => writeSized(socket, Buffer.alloc(64 * mebibyte)))
  const releases: (() => void)[] = []
  let bytes = 0
  let isRetained = true
  const ended = new Promise<void>((resolve, reject) => {
    dispatch(upstream, {
      onResponseData(chunk, release) {
        bytes += chunk.length
        if (isRetained && release !== undefined) releases.push(release)
        else release?.()
      },
      onResponseEnd(last) {
        bytes += last?.length ?? 0
        resolve()
      },
      onResponseError: reject,
    })
  })
  for (let round = 0; round < 5; round += 1) {
    const before = bytes
    await waitUntilStable(() => bytes, 200)
    // The bytes that precede the switch to pooled buffers are copied.
    expect(bytes - before).toBeLessThan(1.2 * mebibyte)
    for (const release of releases.splice(0)) release()
  }
  isRetained = false
  for (const release of releases.splice(0)) release()
  await ended
  expect(bytes).toBe(64 * mebibyte)
})
