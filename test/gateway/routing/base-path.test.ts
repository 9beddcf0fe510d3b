import { expect, it } from 'vitest'
import { expectError } from '../support/expect-error.ts'
import { startGatewayAndUpstream, useSharedGateway } from '../support/running-gateway.ts'
import { toOriginForm } from '../../../src/gateway/stages/receive.ts'
import { listenSchema } from '../../../src/config/listen-settings.ts'

const shared = useSharedGateway({ settings: { listen: { basePath: '/lance/eu' } } })

it('serves the catalog below the base path, and forwards without it', async () => {
  const { gateway, upstream } = shared
  expect(new URL(gateway.url).pathname).toBe('/lance/eu')
  for (const path of ['/v1/table/orders/describe', '/v1/table/orders/describe/', '/v1/table/lance/describe'])
    expect(await gateway.post(`/lance/eu${path}`)).toMatchObject({ status: 200 })
  expect(upstream.requests.map(({ target }) => target)).toEqual([
    '/v1/table/orders/describe',
    '/v1/table/orders/describe',
    '/v1/table/lance/describe',
  ])
})

it.each([
  '/v1/table/orders/describe',
  '/%6cance/eu/v1/table/orders/describe',
  '/lance/eu//v1/table/orders/describe',
  '/lance/eu/../eu/v1/table/orders/describe',
  '/lance%2feu/v1/table/orders/describe',
  '/lance/eu;a/v1/table/orders/describe',
  '/lance/eux/v1/table/orders/describe',
  '/lance/v1/table/orders/describe',
])('%s is not found below a base path', async (target) => {
  const { gateway, upstream } = shared
  expectError(await gateway.post(target), { kind: 'Unsupported', status: 404, says: 'unknown route' })
  expect(upstream.requests).toEqual([])
})

it('names the base path in the error for a path outside', async () => {
  const response = await shared.gateway.post('/v1/table/orders/describe')
  expectError(response, { kind: 'Unsupported', status: 404, says: 'expected a path below "/lance/eu/v1"' })
})

it('serves the OpenAPI document below the base path only, with that path as its server', async () => {
  const { gateway } = shared
  const document = await gateway.get('/lance/eu/openapi.json', { as: null })
  expect(document.status).toBe(200)
  expect(document.json).toMatchObject({ servers: [{ url: '/lance/eu' }] })
  expect(await gateway.get('/openapi.json', { as: null })).toMatchObject({ status: 404 })
})

it('without a base path, serves nothing below one', async () => {
  const { gateway } = await startGatewayAndUpstream()
  const response = await gateway.post('/lance/v1/table/orders/describe')
  expectError(response, { kind: 'Unsupported', status: 404, says: 'unknown route' })
})

it.each(['lance', '/', '/lance/', '//lance', '/a//b', '/a/../b', '/./a', '/a%20b', '/a b', '/a;b', '/ä', ''])(
  'refuses the base path %j',
  (basePath) => {
    expect(listenSchema.safeParse({ basePath }).error?.issues).toMatchObject([
      { path: ['basePath'], message: expect.stringContaining('"/lance"') },
    ])
  },
)

it.each(['/lance', '/a/b.c', '/~me/v1.0', '/..a'])('accepts the base path %j', (basePath) => {
  expect(listenSchema.parse({ basePath })).toMatchObject({ basePath })
})

it.each([
  ['http://g/v1/table?limit=1', 'g', 'http', '/v1/table?limit=1'],
  ['https://g:8443/v1/table', 'g:8443', 'https', '/v1/table'],
  ['http://[::1]:2333/', '[::1]:2333', 'http', '/'],
  ['/http://g/v1', 'other', 'http', '/http://g/v1'],
  ['*', 'g', 'http', '*'],
] as const)('%s for the host %s over %s is %s', (target, host, scheme, expected) => {
  expect(toOriginForm(target, host, scheme)).toBe(expected)
})

it('refuses http on a TLS listener', () => {
  expect(() => toOriginForm('http://g/v1/table', 'g', 'https')).toThrow('expected a path')
})
