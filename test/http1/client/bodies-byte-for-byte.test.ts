import { createHash, randomBytes } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import { Readable } from 'node:stream'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { isThorough } from '../../support/thorough.ts'
import { useSharedGateway } from '../../gateway/support/running-gateway.ts'

const shared = useSharedGateway()
const mebibyte = 1024 * 1024
const noise = randomBytes(8 * mebibyte)

interface Transfer {
  readonly from: number
  readonly size: number
  readonly isSized: boolean
  readonly chunkSize: number
  readonly isSlow: boolean
}

const transfers = fc.record<Transfer>({
  from: fc.nat(mebibyte),
  size: fc.oneof(
    fc.constantFrom(0, 1, 16 * 1024, 16 * 1024 + 1, 64 * 1024, 512 * 1024, 512 * 1024 + 1),
    fc.nat(6 * mebibyte),
  ),
  isSized: fc.boolean(),
  chunkSize: fc.constantFrom(1_000, 16 * 1024, 64 * 1024, mebibyte),
  isSlow: fc.boolean(),
})

function bodyOf({ from, size }: Transfer): Buffer {
  return noise.subarray(from, from + size)
}

function chunks(body: Buffer, { chunkSize }: Transfer): Readable {
  function* all(): Generator<Buffer> {
    for (let at = 0; at < body.length; at += chunkSize) yield body.subarray(at, at + chunkSize)
  }
  return Readable.from(all(), { objectMode: false })
}

async function digest(body: AsyncIterable<unknown>, isSlow: boolean): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of body) {
    hash.update(chunk as Buffer)
    if (isSlow) for (let batches = 0; batches < 5; batches += 1) await turn()
  }
  return hash.digest('hex')
}

const runs = { numRuns: isThorough ? 60 : 3 }

it('concurrent responses arrive byte for byte, with slow readers and writers', async () => {
  const { gateway, upstream } = shared
  const property = fc.asyncProperty(fc.array(transfers, { minLength: 1, maxLength: 5 }), async (all) => {
    upstream.answering = (arrival, response) => {
      const transfer = all[Number(arrival.target.slice('/v1/table/t'.length).split('/')[0])]
      if (transfer === undefined) throw new Error('unexpected request target')
      response.writeHead(200, transfer.isSized ? { 'content-length': transfer.size } : {})
      chunks(bodyOf(transfer), transfer).pipe(response)
    }
    const found = all.map(async ({ isSlow }, index) => {
      const { body } = await gateway.open('POST', `/v1/table/t${index}/query`, { body: {} })
      return digest(body, isSlow)
    })
    expect(await Promise.all(found)).toEqual(
      all.map((transfer) => createHash('sha256').update(bodyOf(transfer)).digest('hex')),
    )
  })
  await fc.assert(property, runs)
})
