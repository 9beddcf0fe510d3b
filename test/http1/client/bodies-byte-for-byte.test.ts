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

/** A body, and how it is written and read. */
interface Context {
  readonly from: number
  readonly size: number
  readonly isSized: boolean
  readonly pieceSize: number
  readonly isSlow: boolean
}

const passages = fc.record<Context>({
  from: fc.nat(mebibyte),
  size: fc.oneof(
    fc.constantFrom(0, 1, 16 * 1024, 16 * 1024 + 1, 64 * 1024, 512 * 1024, 512 * 1024 + 1),
    fc.nat(6 * mebibyte),
  ),
  isSized: fc.boolean(),
  pieceSize: fc.constantFrom(1_000, 16 * 1024, 64 * 1024, mebibyte),
  isSlow: fc.boolean(),
})

function bodyOf({ from, size }: Context): Buffer {
  return noise.subarray(from, from + size)
}

function chunks(context: Context): Readable {
  const body = bodyOf(context)
  function* all(): Generator<Buffer> {
    for (let at = 0; at < body.length; at += context.pieceSize)
      yield body.subarray(at, at + context.pieceSize)
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
  const property = fc.asyncProperty(fc.array(passages, { minLength: 1, maxLength: 5 }), async (all) => {
    upstream.answering = (arrival, response) => {
      const context = all[Number(arrival.target.slice('/v1/table/t'.length).split('/')[0])]
      if (context === undefined) throw new Error('unexpected request')
      response.writeHead(200, context.isSized ? { 'content-length': context.size } : {})
      chunks(context).pipe(response)
    }
    const found = all.map(async ({ isSlow }, index) => {
      const { body } = await gateway.open('POST', `/v1/table/t${index}/query`, { body: {} })
      return digest(body, isSlow)
    })
    expect(await Promise.all(found)).toEqual(
      all.map((context) => createHash('sha256').update(bodyOf(context)).digest('hex')),
    )
  })
  await fc.assert(property, runs)
})

it('concurrent uploads arrive byte for byte', async () => {
  const { gateway, upstream } = shared
  const property = fc.asyncProperty(fc.array(passages, { minLength: 1, maxLength: 5 }), async (all) => {
    upstream.answering = async (_arrival, response, request) => {
      const context = all[Number(request.url?.slice('/v1/table/t'.length).split('/')[0])]
      const hash = await digest(request, context?.isSlow === true)
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ hash }))
    }
    const found = all.map(async (context, index) => {
      const headers = context.isSized ? { 'content-length': String(context.size) } : {}
      const target = `/v1/table/t${index}/insert`
      const response = await gateway.post(target, { body: chunks(context), headers })
      return response.json
    })
    expect(await Promise.all(found)).toEqual(
      all.map((context) => ({ hash: createHash('sha256').update(bodyOf(context)).digest('hex') })),
    )
  })
  await fc.assert(property, runs)
})
