import { gzipSync } from 'node:zlib'
import { it } from 'vitest'
import { attackedGateway } from '../support/attacked-gateway.ts'

const attacked = attackedGateway()
const json = '{"id":["sandbox","orders"]}'

// Texts of any kind are compared with a second reader in gateway/json/json-readers-agree.test.ts.
it.each<[label: string, body: string | Buffer, says: RegExp]>([
  ['a byte order mark', `\uFEFF${json}`, /byte order mark/],
  ['UTF-16', Buffer.from(json, 'utf16le'), /not valid JSON/],
  ['bytes behind it', `${json}{"id":["production"]}`, /not valid JSON/],
  ['a comment', `${json.slice(0, -1)}/*,"a":1*/}`, /not valid JSON/],
  ['a list', `[${json}]`, /not an object/],
  [
    'objects in 65 levels',
    `{"context":${'{"a":'.repeat(64)}1${'}'.repeat(65)}`,
    /more than 64 levels deep|is an object/,
  ],
  ['lists in a million levels', `{"id":${'['.repeat(1_000_000)}`, /more than 64 levels deep/],
])('%s is rejected', async (_label, body, says) => {
  await attacked.expectInvalid({ body, lines: ['content-type: application/json'] }, says)
})

it.each(['gzip', 'deflate', 'br', 'zstd', 'GZIP', 'identity, gzip'])(
  'rejects a body with the content-encoding %s',
  async (encoding) => {
    await attacked.expectInvalid(
      { body: gzipSync(json), lines: [`content-encoding: ${encoding}`] },
      `the content-encoding is "${encoding}"`,
    )
    await attacked.expectInvalid(
      {
        target: '/v1/table/sandbox$orders/insert',
        body: gzipSync('ARROW'),
        lines: [`content-encoding: ${encoding}`],
      },
      `the content-encoding is "${encoding}"`,
    )
  },
)

it.each([
  'application/json; charset=utf-16',
  'application/json;CHARSET=utf-16',
  'application/json; charset=',
  'x-application/json',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/jsonp',
])('rejects a body of the type %s', async (type) => {
  await attacked.expectInvalid({ body: json, lines: [`content-type: ${type}`] }, 'expected application/json')
})

it('checks a body with many members or escapes in less than quadratic time', async () => {
  const members = Array.from({ length: 45_000 }, (_, index) => `"${index}":"0"`).join(',')
  const escapes = '\\\\'.repeat(400_000)
  const target = '/v1/table/sandbox$orders/query'
  const lines = ['content-type: application/json']
  await attacked.expectForwarded({ target, body: `{"columns":{${members}}}`, lines })
  await attacked.expectForwarded({ target, body: `{"filter":"${escapes}"}`, lines })
})
