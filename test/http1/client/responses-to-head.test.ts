import { expect, it } from 'vitest'
import { scripted, writesBytes } from './scripted-upstream.ts'

const heads = [
  'HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n',
  'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n',
  'HTTP/1.1 200 OK\r\n\r\n',
  'HTTP/1.1 416 Range Not Satisfiable\r\ncontent-length: 9\r\n\r\n',
]

it.each(heads)('a response to HEAD is complete with its head: %j', async (head) => {
  const upstream = await scripted(writesBytes(head))
  const { status, body } = await upstream.send({ method: 'HEAD' })
  expect([status, body.length]).toEqual([Number(head.slice(9, 12)), 0])
})

it('its connection is not reused, because a body that follows all the same would be the next response', async () => {
  const upstream = await scripted((socket, request) =>
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n${request.startsWith('HEAD') ? '' : '{}'}`),
  )
  expect((await upstream.send({ method: 'HEAD' })).status).toBe(200)
  expect(upstream.client.connectionCount()).toBe(0)
  expect(String((await upstream.get()).body)).toBe('{}')
  expect(upstream.sockets).toHaveLength(2)
})
