import { expect, it } from 'vitest'
import { getHeaderValues } from '../../gateway/support/recording-upstream.ts'
import { attackedGateway } from '../support/attacked-gateway.ts'

// Catalogs turn context entries into headers, so entries follow the restrictions on headers.
const attacked = attackedGateway()

const spellings = [
  'header.authorization',
  'headers.cookie',
  'header.x-lancedb-database',
  'headers.x-catalog-table-location',
  'header.x-unknown-header',
  'HEADERS.AUTHORIZATION',
  'Header.x_api_key',
  'headers.header.authorization',
  'header.x-catalog-ctx-header.authorization',
  'x-catalog-ctx-header.authorization',
  'header.'.repeat(1000),
  'headers.',
]

it.each([...spellings, ' headers.authorization', 'headers. authorization', 'header\u017f.authorization'])(
  'rejects the key "%s" in a body',
  async (key) => {
    await attacked.expectInvalid(
      { body: { context: { [key]: 'Bearer x' } } },
      'which some catalogs read as (?:a|that) header',
    )
  },
)

it.each([...spellings, 'header.user-agent', 'header.x-catalog-ctx-a'])(
  'rejects the key "%s" in a header',
  async (key) => {
    await attacked.expectInvalid(
      { lines: [`x-catalog-ctx-${key}: Bearer x`] },
      'which some catalogs read as (?:a|that) header',
    )
  },
)

it.each([
  'header.gateway',
  'headers.x-catalog-ctx-gateway',
  'headers.x-lance-ctx-Gateway-User',
  'header.x-catalog-ctx-header.x-catalog-ctx-gateway',
  'header.header.x-catalog-ctx-gateway',
  'x-catalog-ctx-gateway',
])('rejects the reserved key behind "%s" in header and body', async (key) => {
  const expected = {
    kind: 'InvalidInput',
    says:
      key === 'header.gateway'
        ? 'which some catalogs read as (?:a|that) header'
        : 'is reserved for the gateway',
  } as const
  await attacked.expectRefused({ body: { context: { [key]: 'root' } } }, expected)
  await attacked.expectRefused({ lines: [`x-catalog-ctx-${key}: root`] }, expected)
})

it.each(['{"context":{"headers.User-Agent":"b"}}', '{"context":{"header.x-lance-ctx-tenant":"b"}}'])(
  'accepts the key of a permitted header, %s, unless the header is sent too',
  async (body) => {
    expect(String(await (await attacked.expectForwarded({ body })).body)).toBe(body)
    const lines = ['user-agent: h', 'x-catalog-ctx-tenant: h']
    const arrival = await attacked.expectForwarded({ body, lines })
    expect(String(await arrival.body)).toBe('{"context":{}}')
    expect(getHeaderValues(arrival, 'user-agent')).toEqual(['h'])
  },
)

it('accepts other keys', async () => {
  const body = '{"context":{"trace.header.id":"1","headerless":"2","my-gateway":"3"}}'
  const arrival = await attacked.expectForwarded({ body, lines: ['x-catalog-ctx-trace.header.a: 1'] })
  expect(String(await arrival.body)).toBe(body)
  expect(getHeaderValues(arrival, 'x-catalog-ctx-trace.header.a')).toEqual(['1'])
})
