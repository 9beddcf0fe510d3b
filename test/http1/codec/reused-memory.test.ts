import fc from 'fast-check'
import { expect, it } from 'vitest'
import { SocketReader, type SocketReaderHandler } from '../../../src/http1/codec/socket-reader.ts'

const bufferBytes = 64 * 1024

interface Retained {
  readonly bytes: Buffer
  readonly before: Buffer
  readonly release: (error?: Error) => void
}

/** A reader whose chunks are retained, if it receives a body; node is played by `read`. */
class ReaderOfBodies implements SocketReaderHandler {
  readonly reader = new SocketReader(this)
  readonly retained: Retained[]
  retainsChunks = true
  readonly wantsPause = false

  constructor(retained: Retained[]) {
    this.retained = retained
  }

  onBytes(bytes: Buffer): void {
    const release = this.reader.retain(bytes)
    const own = release ? bytes : this.reader.copy(bytes)
    this.retained.push({ bytes: own, before: Buffer.from(bytes), release: release ?? (() => undefined) })
  }

  fail(error: Error): void {
    throw error
  }

  read(size: number, filler: number): void {
    if (this.reader.isBlocked) return
    const { onread } = this.reader
    const into = typeof onread.buffer === 'function' ? onread.buffer() : onread.buffer
    const length = Math.min(size, into.length)
    into.fill(filler, 0, length)
    expect(onread.callback(length, into)).toBe(!this.reader.isBlocked)
  }
}

const steps = fc.record({
  reader: fc.nat(3),
  size: fc.constantFrom(1, 10_000, 20_000, bufferBytes, bufferBytes, 300_000, 1_048_576),
  releases: fc.nat(3),
  fails: fc.boolean(),
  isBody: fc.constantFrom(true, true, true, false),
  closes: fc.constantFrom(false, false, false, false, true),
})

it('chunks are unchanged until they are released, whatever is read meanwhile', () => {
  const property = fc.property(fc.array(steps, { minLength: 20, maxLength: 60 }), (all) => {
    const retained: Retained[] = []
    const readers = Array.from({ length: 4 }, () => new ReaderOfBodies(retained))
    for (const [index, step] of all.entries()) {
      const current = readers[step.reader]
      if (current === undefined) return
      current.retainsChunks = step.isBody
      current.read(step.size, index)
      for (const { bytes, before } of retained) expect(bytes.equals(before)).toBe(true)
      if (step.closes) {
        current.reader.close()
        readers[step.reader] = new ReaderOfBodies(retained)
      }
      for (const { release } of retained.splice(0, step.releases))
        release(step.fails ? new Error('the write failed') : undefined)
    }
  })
  fc.assert(property, { numRuns: 50 })
})
