import { expect, it } from 'vitest'
import type { IncomingRequest } from '../../../src/http1/server/incoming-request.ts'
import { openRaw } from '../../gateway/raw-connection.ts'
import { deferred, eventually } from '../../gateway/waiting.ts'
import { respondText, bodyOf, runServer } from './running-server.ts'

const sized = 'POST /sized HTTP/1.1\r\nhost: g\r\ncontent-length: 6\r\n\r\nabcdef'
const chunked =
  'POST /chunks HTTP/1.1\r\nhost: g\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n4\r\ncdef\r\n0\r\n\r\n'
const next = 'GET /next HTTP/1.1\r\nhost: g\r\n\r\n'
const both = [
  ['of a length', sized],
  ['in chunks', chunked],
] as const

/** Takes one request, and answers all others at once. */
async function runWithFirst() {
  const first = deferred<Parameters<Parameters<typeof runServer>[0]>>()
  const targets: string[] = []
  const running = await runServer((request, answer) => {
    if (targets.push(request.head.target) === 1) first.resolve([request, answer])
    else respondText(answer, `to ${request.head.target}`)
  })
  return { ...running, first: first.promise, targets }
}

interface Told {
  text: string
  ends: number
  breaks: number
}

/** Writes down all that it is told of the body. */
function listen(request: IncomingRequest, onPiece: () => void = () => undefined): Told {
  const told: Told = { text: '', ends: 0, breaks: 0 }
  request.consume({
    onRequestData(bytes) {
      told.text += bytes.toString('latin1')
      onPiece()
    },
    onRequestEnd: () => void (told.ends += 1),
    onRequestError: () => void (told.breaks += 1),
  })
  return told
}

it.each(both)(
  'a body %s that is taken late is whole, and the request behind it waits',
  async (_what, sent) => {
    const { url, first, targets } = await runWithFirst()
    const connection = openRaw(url)
    connection.write(sent + next)
    const [request, answer] = await first
    await new Promise(setImmediate)
    expect(request.isComplete).toBe(false)
    expect(String(await bodyOf(request))).toBe('abcdef')
    expect(targets).toHaveLength(1)
    respondText(answer, 'done')
    await connection.until(/done[^]*to \/next$/)
  },
)

it.each(both)('a body %s that is paused comes no further before it is resumed', async (_what, sent) => {
  const { url, first } = await runWithFirst()
  const connection = openRaw(url)
  const last = sent.indexOf('ef')
  connection.write(sent.slice(0, last))
  const [request, answer] = await first
  const told = listen(request, () => request.pause())
  for (const text of sent === sized ? ['abcd'] : ['ab', 'abcd']) {
    expect(told.text).toBe(text)
    if (text === 'abcd') connection.write(sent.slice(last) + next)
    for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate)
    expect(told).toEqual({ text, ends: 0, breaks: 0 })
    request.resume()
  }
  await eventually(() => expect(told.text).toBe('abcdef'))
  request.resume()
  await eventually(() => expect(told).toEqual({ text: 'abcdef', ends: 1, breaks: 0 }))
  respondText(answer, 'done')
  await connection.until(/done[^]*to \/next$/)
})

it('whoever takes a body from another one gets the rest of it', async () => {
  const { url, first } = await runWithFirst()
  const connection = openRaw(url)
  connection.write(sized.slice(0, -4))
  const [request] = await first
  const told = listen(request)
  expect(told.text).toBe('ab')
  const rest = bodyOf(request)
  connection.write('cdef')
  expect(String(await rest)).toBe('cdef')
  expect(told).toEqual({ text: 'ab', ends: 0, breaks: 0 })
  expect(listen(request)).toEqual({ text: '', ends: 1, breaks: 0 })
})

it.each([
  ['leaves', (leave: () => void) => leave()],
  ['sends no chunk', (_leave: () => void, write: (text: string) => void) => write('zz\r\n')],
])('where a client %s in the middle, its body breaks once, and nothing comes after', async (_what, spoil) => {
  const { url, first, server } = await runWithFirst()
  const connection = openRaw(url)
  connection.write(chunked.slice(0, -14))
  const [request, answer] = await first
  const told = listen(request)
  let closes = 0
  answer.onClose.add(() => (closes += 1))
  await eventually(() => expect(told.text).toBe('ab'))
  spoil(
    () => connection.socket.resetAndDestroy(),
    (text) => connection.write(text),
  )
  await eventually(() => expect(server.connectionCount()).toBe(0))
  expect(told).toMatchObject({ ends: 0, breaks: 1 })
  expect([closes, answer.isComplete, answer.isDestroyed, request.isAborted]).toEqual([1, false, true, true])
  expect(listen(request)).toEqual({ text: '', ends: 0, breaks: 1 })
  respondText(answer, 'too late')
  expect([closes, told.breaks]).toEqual([1, 1])
})

it.each(both)('a body %s that comes after its answer is not the next request', async (_what, sent) => {
  const { url, first, targets } = await runWithFirst()
  const connection = openRaw(url)
  const body = sent.indexOf('\r\n\r\n') + 4
  connection.write(sent.slice(0, body))
  const [request, answer] = await first
  respondText(answer, 'done')
  await connection.until(/done$/)
  const told = listen(request)
  connection.write(sent.slice(body) + next)
  await connection.until(/done[^]*to \/next$/)
  expect(told).toEqual({ text: 'abcdef', ends: 1, breaks: 0 })
  expect(targets).toHaveLength(2)
})

it.each(both)('a body %s that nobody takes holds up what stands behind it', async (_what, sent) => {
  const { url, first, targets } = await runWithFirst()
  const connection = openRaw(url)
  connection.write(sent + next)
  const [, answer] = await first
  respondText(answer, 'done')
  await connection.until(/done$/)
  for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate)
  expect([targets.length, connection.received()]).toEqual([1, expect.stringMatching(/done$/)])
})

it.each(both)(
  'behind an answer that closes the connection neither a body %s nor a request is read',
  async (_what, sent) => {
    const { url, first, targets, server } = await runWithFirst()
    const connection = openRaw(url)
    connection.write(sent + next)
    const [request, answer] = await first
    answer.keepAlive = false
    respondText(answer, 'done')
    const told = listen(request)
    expect(await connection.end()).toMatch(/\r\nconnection: close\r\n[^]*done$/)
    expect(told).toEqual({ text: '', ends: 0, breaks: 1 })
    expect(targets).toHaveLength(1)
    await eventually(() => expect(server.connectionCount()).toBe(0))
  },
)

it('a client that holds its body back is told to continue, and only before its answer', async () => {
  const { url, first } = await runWithFirst()
  const connection = openRaw(url)
  connection.write(sized.replace('\r\n\r\nabcdef', '\r\nexpect: 100-continue\r\n\r\n'))
  const [request, answer] = await first
  expect(request.head.expectsContinue).toBe(true)
  answer.writeContinue()
  await connection.until(/^HTTP\/1\.1 100 Continue\r\n\r\n$/)
  connection.write(`abcdef${next}`)
  expect(String(await bodyOf(request))).toBe('abcdef')
  answer.writeHead(200, ['content-length', '4'])
  answer.writeContinue()
  answer.end('done')
  expect(await connection.until(/to \/next$/)).toMatch(
    /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n[^]*done/,
  )
  expect(connection.received().match(/100 Continue/g)).toHaveLength(1)
})
