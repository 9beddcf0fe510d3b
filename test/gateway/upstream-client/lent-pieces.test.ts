import { randomBytes } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { scripted, type Scripted } from './scripted-upstream.ts'

const bodies = Array.from({ length: 4 }, () => randomBytes(3 * 1024 * 1024 + 17))

/**
 * Resolves with the end of an answer, which is read as slowly as may be: what is lent is looked at long after it came,
 * and all else at the very end.
 */
function readLate({ client }: Scripted, index: number): Promise<{ readonly body: Promise<Buffer> }> {
  return new Promise((resolve, reject) => {
    const pieces: Promise<Buffer>[] = []
    client.send(
      { method: 'GET', path: `/${index}`, headers: [], body: null },
      {
        sending: () => undefined,
        head: () => undefined,
        data: (piece, giveBack) => pieces.push(giveBack ? late(piece, giveBack) : Promise.resolve(piece)),
        end(last) {
          if (last !== undefined) pieces.push(Promise.resolve(Buffer.from(last)))
          resolve({ body: Promise.all(pieces).then((all) => Buffer.concat(all)) })
        },
        failed: reject,
      },
    )
  })
}

async function late(piece: Buffer, giveBack: () => void): Promise<Buffer> {
  for (let turns = 0; turns < 20; turns += 1) await turn()
  const seen = Buffer.from(piece)
  giveBack()
  return seen
}

it('what is handed out stays as it was until it is given back, whatever others read meanwhile', async () => {
  const upstream = await scripted((socket, text) => {
    const body = bodies[Number(text.slice('GET /'.length).split(' ')[0])] ?? Buffer.alloc(0)
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n`)
    socket.write(body)
  })
  const areExact = bodies.map(async (body, index) => {
    const found: Promise<Buffer>[] = []
    // The next answer begins while the last pieces of this one are still lent.
    for (let round = 0; round < 4; round += 1) found.push((await readLate(upstream, index)).body)
    return (await Promise.all(found)).every((read) => read.equals(body))
  })
  expect(await Promise.all(areExact)).toEqual(bodies.map(() => true))
  expect(upstream.sockets).toHaveLength(bodies.length)
})
