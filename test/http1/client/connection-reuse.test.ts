import { expect, it } from 'vitest'
import { createBody, dispatch, scripted, writesBytes, type Script } from './scripted-upstream.ts'
import { eventually } from '../../support/eventually.ts'

const good = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'

it('sends consecutive requests over one connection', async () => {
  const upstream = await scripted(writesBytes(good))
  for (let count = 0; count < 5; count += 1) await upstream.get()
  expect(upstream.sockets).toHaveLength(1)
})

it('sends concurrent requests over separate connections, and later ones over the one used last', async () => {
  const upstream = await scripted(writesBytes(good))
  await Promise.all([upstream.get(), upstream.get(), upstream.get()])
  expect(upstream.sockets).toHaveLength(3)
  const used = new Set<unknown>()
  upstream.script = (socket) => {
    used.add(socket)
    socket.write(good)
  }
  for (let count = 0; count < 5; count += 1) await upstream.get()
  expect(used.size).toBe(1)
})

it.each<[name: string, response: string]>([
  ['with connection: close', 'HTTP/1.1 200 OK\r\nConnection: x, Close\r\ncontent-length: 2\r\n\r\n{}'],
  ['of HTTP/1.0', 'HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\n{}'],
  [
    'with a short keep-alive timeout',
    'HTTP/1.1 200 OK\r\nkeep-alive: max=9, timeout=2\r\ncontent-length: 2\r\n\r\n{}',
  ],
  ['204 with a content-length', 'HTTP/1.1 204 No Content\r\ncontent-length: 2\r\n\r\n'],
])('does not reuse a connection after a response %s', async (_what, response) => {
  const upstream = await scripted(writesBytes(response))
  for (let count = 1; count <= 3; count += 1) {
    await upstream.get()
    expect(upstream.client.connectionCount()).toBe(0)
    expect(upstream.sockets).toHaveLength(count)
  }
})

it.each<[name: string, Script]>([
  ['sends a response', writesBytes('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nfalse')],
  ['sends a single byte', writesBytes('\n')],
  ['ends it', (socket) => socket.end()],
  ['resets it', (socket) => socket.resetAndDestroy()],
])('closes a connection if the upstream %s while it is idle', async (_what, whenIdle) => {
  const upstream = await scripted(
    writesBytes('HTTP/1.1 200 OK\r\nkeep-alive: timeout=600\r\ncontent-length: 2\r\n\r\n{}'),
  )
  await upstream.get()
  const [first] = upstream.sockets
  if (first === undefined) throw new Error('no connection')
  whenIdle(first, '')
  await eventually(() => expect(upstream.client.connectionCount()).toBe(0))
  expect(String((await upstream.get()).body)).toBe('{}')
})

it('closes an idle connection before the upstream would', async () => {
  const upstream = await scripted(
    writesBytes('HTTP/1.1 200 OK\r\nkeep-alive: timeout=3\r\ncontent-length: 0\r\n\r\n'),
    { bodyTimeoutMs: 400 },
  )
  await upstream.get()
  expect(upstream.client.connectionCount()).toBe(1)
  await eventually(() => expect(upstream.client.connectionCount()).toBe(0))
})

it('replaces an idle connection if a fresh one is requested', async () => {
  const upstream = await scripted(writesBytes(good))
  await upstream.get()
  await new Promise<void>((resolve, reject) => {
    const handler = { onResponseEnd: () => resolve(), onResponseError: reject }
    dispatch(upstream, handler, '/', true)
  })
  expect(upstream.sockets).toHaveLength(2)
  expect(upstream.client.connectionCount()).toBe(1)
})

it('closes a connection whose response arrived before the request was complete', async () => {
  const upstream = await scripted((socket) => {
    socket.pause()
    socket.write(good)
  })
  const body = createBody(64 * 1024, true)
  expect(String((await upstream.send({ method: 'POST', body })).body)).toBe('{}')
  expect(body.isStopped).toBe(true)
  expect(upstream.client.connectionCount()).toBe(0)
  const buffer = Buffer.alloc(16 * 1024 * 1024)
  expect(String((await upstream.send({ method: 'POST', body: buffer })).body)).toBe('{}')
  await eventually(() => expect(upstream.client.connectionCount()).toBe(0))
})

it('does not send a request behind one that the upstream does not read', async () => {
  const upstream = await scripted((socket) => {
    socket.pause()
    socket.write(good)
  })
  await upstream.send({ method: 'POST', body: Buffer.alloc(16 * 1024 * 1024) })
  await upstream.get()
  expect(upstream.sockets).toHaveLength(2)
})

it.each<[name: string, Script]>([
  ['before its response', () => undefined],
  ['in the middle of its response', writesBytes('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n{')],
])('aborting a request %s closes its connection and ends it once', async (_what, script) => {
  const upstream = await scripted(script)
  const ends: unknown[] = []
  const call = dispatch(upstream, {
    onResponseEnd: () => ends.push('end'),
    onResponseError: (error) => ends.push(error),
  })
  await eventually(() => expect(upstream.sockets[0]?.bytesRead).toBeGreaterThan(0))
  const reason = new Error('enough')
  call.abort(reason)
  call.abort(new Error('again'))
  call.resume()
  expect(ends).toEqual([reason])
  await eventually(() => expect(upstream.sockets[0]?.destroyed).toBe(true))
  upstream.script = writesBytes(good)
  expect(String((await upstream.get()).body)).toBe('{}')
  expect(ends).toEqual([reason])
})

it('aborting a completed request does not affect the next one on its connection', async () => {
  const upstream = await scripted(writesBytes(good))
  let failed = 0
  const over = await new Promise<{ abort(reason: Error): void; pause(): void }>((resolve) => {
    const call = dispatch(upstream, {
      onResponseEnd: () => resolve(call),
      onResponseError: () => (failed += 1),
    })
  })
  upstream.script = (socket) => setTimeout(() => socket.write(good), 50)
  const next = upstream.get()
  over.pause()
  over.abort(new Error('late'))
  expect(String((await next).body)).toBe('{}')
  expect(failed).toBe(0)
  expect(upstream.sockets).toHaveLength(1)
})

it.each([
  ['a line end in a value', { headers: ['a', 'b\r\nc: d'] }],
  ['a line end in a name', { headers: ['a\n', 'b'] }],
  ['a NUL in a value', { headers: ['a', 'b\0'] }],
  ['a character beyond latin1', { headers: ['a', '\u010a'] }],
  ['a second host', { headers: ['host', 'elsewhere'] }],
  ['a transfer-encoding', { headers: ['transfer-encoding', 'gzip'] }],
  ['an invalid length', { headers: ['content-length', '5x'], body: createBody(5) }],
  ['a blank in its target', { path: '/a b' }],
  ['a line end in its target', { path: '/a\r\nb' }],
  ['no slash before its target', { path: 'http://elsewhere/' }],
  ['fewer bytes than its length', { body: createBody(4), headers: ['content-length', '5'] }],
  ['more bytes than its length', { body: createBody(6), headers: ['content-length', '5'] }],
])('does not send a request with %s as it is', async (_what, request) => {
  const upstream = await scripted((socket, text) => {
    if (text.endsWith('\r\n\r\n\0\0\0\0\0') || !text.includes('content-length')) socket.write(good)
  })
  await expect(upstream.send({ method: 'POST', ...request })).rejects.toMatchObject({ code: 'BAD_REQUEST' })
  expect(upstream.client.connectionCount()).toBe(0)
})

it('a closed client aborts its requests and rejects new ones', async () => {
  const upstream = await scripted(() => undefined)
  const pending = upstream.get()
  await eventually(() => expect(upstream.sockets).toHaveLength(1))
  upstream.client.close()
  await expect(pending).rejects.toMatchObject({ code: 'CLIENT_CLOSED' })
  await expect(upstream.get()).rejects.toMatchObject({ code: 'CLIENT_CLOSED' })
  expect(upstream.sockets).toHaveLength(1)
})
