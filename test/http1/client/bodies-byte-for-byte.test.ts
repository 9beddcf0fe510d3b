import { createHash, randomBytes } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import { Readable } from 'node:stream'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { isThorough } from '../../thorough.ts'
import { sharedGateway } from '../../gateway/running-gateway.ts'

const shared = sharedGateway()
const mebibyte = 1024 * 1024
const noise = randomBytes(8 * mebibyte)

/** One body on its way: what it is, how it is written, and how it is read. */
interface Passage {
  readonly from: number
  readonly size: number
  readonly isSized: boolean
  readonly pieceSize: number
  readonly isSlow: boolean
}

const passages = fc.record<Passage>({
  from: fc.nat(mebibyte),
  size: fc.oneof(
    fc.constantFrom(0, 1, 16 * 1024, 16 * 1024 + 1, 64 * 1024, 512 * 1024, 512 * 1024 + 1),
    fc.nat(6 * mebibyte),
  ),
  isSized: fc.boolean(),
  pieceSize: fc.constantFrom(1_000, 16 * 1024, 64 * 1024, mebibyte),
  isSlow: fc.boolean(),
})

function bodyOf({ from, size }: Passage): Buffer {
  return noise.subarray(from, from + size)
}

function chunks(passage: Passage): Readable {
  const body = bodyOf(passage)
  function* all(): Generator<Buffer> {
    for (let at = 0; at < body.length; at += passage.pieceSize)
      yield body.subarray(at, at + passage.pieceSize)
  }
  return Readable.from(all(), { objectMode: false })
}

async function digest(body: AsyncIterable<unknown>, isSlow: boolean): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of body) {
    hash.update(chunk as Buffer)
    if (isSlow) for (let turns = 0; turns < 5; turns += 1) await turn()
  }
  return hash.digest('hex')
}

const runs = { numRuns: isThorough ? 60 : 3 }

it('answers that come at a time reach their clients byte for byte, whoever is slow', async () => {
  const { gateway, upstream } = shared
  const property = fc.asyncProperty(fc.array(passages, { minLength: 1, maxLength: 5 }), async (all) => {
    upstream.answering = (arrival, response) => {
      const passage = all[Number(arrival.target.slice('/v1/table/t'.length).split('/')[0])]
      if (passage === undefined) throw new Error('nobody asked for that')
      response.writeHead(200, passage.isSized ? { 'content-length': passage.size } : {})
      chunks(passage).pipe(response)
    }
    const found = all.map(async ({ isSlow }, index) => {
      const { body } = await gateway.open('POST', `/v1/table/t${index}/query`, { body: {} })
      return digest(body, isSlow)
    })
    expect(await Promise.all(found)).toEqual(
      all.map((passage) => createHash('sha256').update(bodyOf(passage)).digest('hex')),
    )
  })
  await fc.assert(property, runs)
})

it('uploads that come at a time reach the upstream byte for byte', async () => {
  const { gateway, upstream } = shared
  const property = fc.asyncProperty(fc.array(passages, { minLength: 1, maxLength: 5 }), async (all) => {
    upstream.answering = async (_arrival, response, request) => {
      const passage = all[Number(request.url?.slice('/v1/table/t'.length).split('/')[0])]
      const hash = await digest(request, passage?.isSlow === true)
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ hash }))
    }
    const found = all.map(async (passage, index) => {
      const headers = passage.isSized ? { 'content-length': String(passage.size) } : {}
      const target = `/v1/table/t${index}/insert`
      const answer = await gateway.post(target, { body: chunks(passage), headers })
      return answer.json
    })
    expect(await Promise.all(found)).toEqual(
      all.map((passage) => ({ hash: createHash('sha256').update(bodyOf(passage)).digest('hex') })),
    )
  })
  await fc.assert(property, runs)
})
