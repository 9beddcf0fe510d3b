import { gzipSync } from 'node:zlib'
import { it } from 'vitest'
import { attackedGateway } from '../support/attacked-gateway.ts'

const attacked = attackedGateway()
const json = '{"id":["sandbox","orders"]}'

// Texts of any kind are compared with a second reader in gateway/json/json-readers-agree.test.ts.
it.each<[label: string, body: string | Buffer, says: RegExp]>([
  ['a byte order mark', `\uFEFF${json}`, /byte order mark/],
  ['UTF-16', Buffer.from(json, 'utf16le'), /not valid JSON/],
  ['an overlong quote', Buffer.from([0x7b, 0xc0, 0xa2, 0x7d]), /not valid UTF-8/],
  ['bytes behind it', `${json}{"id":["production"]}`, /not valid JSON/],
  ['a comment', `${json.slice(0, -1)}/*,"a":1*/}`, /not valid JSON/],
  ['a list', `[${json}]`, /not an object/],
  ['text', '"id"', /not an object/],
  [
    'objects in 65 levels',
    `{"context":${'{"a":'.repeat(64)}1${'}'.repeat(65)}`,
    /more than 64 levels deep|is an object/,
  ],
  ['lists in a million levels', `{"id":${'['.repeat(1_000_000)}`, /more than 64 levels deep/],
])('%s is rejected', async (_label, body, says) => {
  await attacked.expectRefused(
    { body, lines: ['content-type: application/json'] },
    { kind: 'InvalidInput', says },
  )
})

it.each(['gzip', 'deflate', 'br', 'zstd', 'GZIP', 'identity, gzip'])(
  'rejects a body with the content-encoding %s',
  async (encoding) => {
    await attacked.expectRefused(
      { body: gzipSync(json), lines: [`content-encoding: ${encoding}`] },
      { kind: 'InvalidInput', says: `the content-encoding is "${encoding}"` },
    )
    await attacked.expectRefused(
      {
        target: '/v1/table/sandbox$orders/insert',
        body: gzipSync('ARROW'),
        lines: [`content-encoding: ${encoding}`],
      },
      { kind: 'InvalidInput', says: `the content-encoding is "${encoding}"` },
    )
  },
)

it.each([
  'application/json; charset=utf-16',
  'application/json; charset=iso-8859-1',
  'application/json; charset=utf-7',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/xml',
  'application/jsonp',
])('rejects a body of the type %s', async (type) => {
  await attacked.expectRefused(
    { body: json, lines: [`content-type: ${type}`] },
    { kind: 'InvalidInput', says: 'expected application/json' },
  )
})

it('checks a body with many members or escapes in less than quadratic time', async () => {
  const members = Array.from({ length: 45_000 }, (_, index) => `"${index}":"0"`).join(',')
  const escapes = '\\\\'.repeat(400_000)
  const target = '/v1/table/sandbox$orders/query'
  const lines = ['content-type: application/json']
  await attacked.expectForwarded({ target, body: `{"columns":{${members}}}`, lines })
  await attacked.expectForwarded({ target, body: `{"filter":"${escapes}"}`, lines })
})
