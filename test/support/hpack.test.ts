import { createServer } from 'node:http2'
import { once } from 'node:events'
import { expect, it, onTestFinished } from 'vitest'
import { openRawHttp2 } from '../gateway/support/raw-http2.ts'
import type { Field } from './hpack.ts'

const printable = Array.from({ length: 0x7f - 0x21 }, (_, index) => String.fromCharCode(0x21 + index))

it.each<[label: string, fields: readonly Field[]]>([
  ['each character', printable.map((character, index) => [`x-${index}`, character.repeat(20)])],
  ['blanks inside', [['x-a', 'a b  c']]],
  ['a value that is empty', [['x-a', '']]],
  ['characters beyond ASCII, uncompressed', [['x-a', '\xff'.repeat(9)]]],
  ['a name and a value of the static table', [['accept-encoding', 'gzip, deflate']]],
  ['the last name of the static table', [['www-authenticate', 'Bearer']]],
  ['a length of more than one byte', [['x-a', '\xff'.repeat(9_000)]]],
  ['the same field twice, uncached', ['1', '1'].map((value): Field => ['x-a', value])],
])("reads what node's encoder has written: %s", async (_label, fields) => {
  const server = createServer().on('stream', (stream) => {
    const names = new Set(fields.map(([name]) => name))
    const valuesOf = (of: string): string[] =>
      fields.filter(([name]) => name === of).map(([, value]) => value)
    stream.respond(Object.fromEntries([...names].map((name) => [name, valuesOf(name)])))
    stream.end()
  })
  server.listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  const connection = await openRawHttp2(`http://127.0.0.1:${address.port}`)
  await connection.request(1, [
    [':method', 'GET'],
    [':path', '/'],
  ])
  expect(await connection.waitForStatus(1)).toBe(200)
  expect(connection.headers(1).filter(([name]) => name !== 'date')).toEqual(fields)
})
