import { expect, it } from 'vitest'
import type { IncomingRequest } from '../../../src/http1/server/incoming-request.ts'
import { openRawConnection } from '../../gateway/support/raw-connection.ts'
import { createDeferred } from '../../gateway/support/waiting.ts'
import { respondText, bodyOf, runServer } from './running-server.ts'
import { eventually } from '../../support/eventually.ts'

const sized = 'POST /sized HTTP/1.1\r\nhost: g\r\ncontent-length: 6\r\n\r\nabcdef'
const chunked =
  'POST /chunks HTTP/1.1\r\nhost: g\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n4\r\ncdef\r\n0\r\n\r\n'
const next = 'GET /next HTTP/1.1\r\nhost: g\r\n\r\n'
const both = [
  ['of a length', sized],
  ['in chunks', chunked],
] as const

/** Serves the first request by the test, and responds to all others at once. */
async function runWithFirst() {
  const first = createDeferred<Parameters<Parameters<typeof runServer>[0]>>()
  const targets: string[] = []
  const running = await runServer((request, response) => {
    if (targets.push(request.head.target) === 1) first.resolve([request, response])
    else respondText(response, `to ${request.head.target}`)
  })
  return { ...running, first: first.promise, targets }
}

interface Reported {
  text: string
  ends: number
  errors: number
}

function recordCallbacks(request: IncomingRequest, onChunk: () => void = () => undefined): Reported {
  const reported: Reported = { text: '', ends: 0, errors: 0 }
  request.consume({
    onRequestData(bytes) {
      reported.text += bytes.toString('latin1')
      onChunk()
    },
    onRequestEnd: () => void (reported.ends += 1),
    onRequestError: () => void (reported.errors += 1),
  })
  return reported
}

it.each(both)(
  'a body %s that is consumed late is complete, and the next request waits',
  async (_what, sent) => {
    const { url, first, targets } = await runWithFirst()
    const connection = openRawConnection(url)
    connection.write(sent + next)
    const [request, response] = await first
    await new Promise(setImmediate)
    expect(request.isComplete).toBe(false)
    expect(String(await bodyOf(request))).toBe('abcdef')
    expect(targets).toHaveLength(1)
    respondText(response, 'done')
    await connection.waitFor(/done[^]*to \/next$/)
  },
)

it.each(both)('a paused body %s does not continue before it is resumed', async (_what, sent) => {
  const { url, first } = await runWithFirst()
  const connection = openRawConnection(url)
  const last = sent.indexOf('ef')
  connection.write(sent.slice(0, last))
  const [request, response] = await first
  const reported = recordCallbacks(request, () => request.pause())
  for (const text of sent === sized ? ['abcd'] : ['ab', 'abcd']) {
    expect(reported.text).toBe(text)
    if (text === 'abcd') connection.write(sent.slice(last) + next)
    for (let count = 0; count < 5; count += 1) await new Promise(setImmediate)
    expect(reported).toEqual({ text, ends: 0, errors: 0 })
    request.resume()
  }
  await eventually(() => expect(reported.text).toBe('abcdef'))
  request.resume()
  await eventually(() => expect(reported).toEqual({ text: 'abcdef', ends: 1, errors: 0 }))
  respondText(response, 'done')
  await connection.waitFor(/done[^]*to \/next$/)
})

it('a consumer that replaces another one gets the rest of the body', async () => {
  const { url, first } = await runWithFirst()
  const connection = openRawConnection(url)
  connection.write(sized.slice(0, -4))
  const [request] = await first
  const reported = recordCallbacks(request)
  expect(reported.text).toBe('ab')
  const rest = bodyOf(request)
  connection.write('cdef')
  expect(String(await rest)).toBe('cdef')
  expect(reported).toEqual({ text: 'ab', ends: 0, errors: 0 })
  expect(recordCallbacks(request)).toEqual({ text: '', ends: 1, errors: 0 })
})

it.each([
  ['leaves', (leave: () => void) => leave()],
  ['sends no chunk', (_leave: () => void, write: (text: string) => void) => write('zz\r\n')],
])('if a client %s in the middle, its body fails once, and no callback follows', async (_what, spoil) => {
  const { url, first, server } = await runWithFirst()
  const connection = openRawConnection(url)
  connection.write(chunked.slice(0, -14))
  const [request, response] = await first
  const reported = recordCallbacks(request)
  let closes = 0
  response.onClose.add(() => (closes += 1))
  await eventually(() => expect(reported.text).toBe('ab'))
  spoil(
    () => connection.socket.resetAndDestroy(),
    (text) => connection.write(text),
  )
  await eventually(() => expect(server.connectionCount()).toBe(0))
  expect(reported).toMatchObject({ ends: 0, errors: 1 })
  expect([closes, response.isComplete, response.isDestroyed]).toEqual([1, false, true])
  expect(recordCallbacks(request)).toEqual({ text: '', ends: 0, errors: 1 })
  respondText(response, 'too late')
  expect([closes, reported.errors]).toEqual([1, 1])
})

it.each(both)('a body %s that arrives after its response is not the next request', async (_what, sent) => {
  const { url, first, targets } = await runWithFirst()
  const connection = openRawConnection(url)
  const body = sent.indexOf('\r\n\r\n') + 4
  connection.write(sent.slice(0, body))
  const [, response] = await first
  respondText(response, 'done')
  await connection.waitFor(/done$/)
  connection.write(sent.slice(body) + next)
  await connection.waitFor(/done[^]*to \/next$/)
  expect(targets).toHaveLength(2)
})

it.each(both)('serves no request behind a body %s and a response that closes', async (_what, sent) => {
  const { url, first, targets, server } = await runWithFirst()
  const connection = openRawConnection(url)
  connection.write(sent + next)
  const [, response] = await first
  response.keepAlive = false
  respondText(response, 'done')
  expect(await connection.waitForEnd()).toMatch(/\r\nconnection: close\r\n[^]*done$/)
  expect(targets).toHaveLength(1)
  await eventually(() => expect(server.connectionCount()).toBe(0))
})

it('sends 100 Continue to a client that waits for it, and only before the response', async () => {
  const { url, first } = await runWithFirst()
  const connection = openRawConnection(url)
  connection.write(sized.replace('\r\n\r\nabcdef', '\r\nexpect: 100-continue\r\n\r\n'))
  const [request, response] = await first
  expect(request.head.expectsContinue).toBe(true)
  response.writeContinue()
  await connection.waitFor(/^HTTP\/1\.1 100 Continue\r\n\r\n$/)
  connection.write(`abcdef${next}`)
  expect(String(await bodyOf(request))).toBe('abcdef')
  response.writeHead(200, ['content-length', '4'])
  response.writeContinue()
  response.end('done')
  expect(await connection.waitFor(/to \/next$/)).toMatch(
    /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n[^]*done/,
  )
  expect(connection.received().match(/100 Continue/g)).toHaveLength(1)
})
