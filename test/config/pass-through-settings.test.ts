import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { readGatewaySettings } from '../../src/config/gateway-settings.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const route = { prefix: '/ui', upstream: 'https://catalog.example/ui', allow: { groups: ['staff'] } }

async function read(passThrough: readonly object[], changes: object = {}) {
  const file = join(await temporaryFolder(), 'gateway.yaml')
  const least = {
    upstream: { url: 'https://catalog.example' },
    identity: { anonymous: true },
    policies: { folder: 'policies' },
    audit: { folder: 'audit' },
  }
  await writeFile(file, stringify({ ...least, ...changes, passThrough }))
  return readGatewaySettings(file, {})
}

it('a route reads with GET and HEAD, without WebSocket, unless the settings say otherwise', async () => {
  const { passThrough } = await read([route])
  expect(passThrough).toMatchObject([{ ...route, methods: ['GET', 'HEAD'], webSocket: false }])
})

it('paths of certificates are relative to the settings file', async () => {
  const { passThrough } = await read([{ ...route, caFile: 'ca.pem' }])
  expect(passThrough[0]?.caFile).toMatch(/^\/.+\/ca\.pem$/)
})

it.for([
  ['/v1', '/v1'],
  ['/V1/table', '/v1'],
  ['/admin', '/admin/authz'],
  ['/openapi.json', '/openapi.json'],
  ['/.Well-Known/jwks.json', '/.well-known'],
  ['/docs', '/docs'],
])('the prefix %s is refused: it overlaps %s', async ([prefix = '', reserved = '']) => {
  await expect(read([{ ...route, prefix }])).rejects.toThrow(
    `passThrough.0.prefix: ${prefix} overlaps ${reserved}, which belongs to the catalog`,
  )
})

it.for(['/lance', '/LANCE/ui', '/a'])('the prefix %s is refused beside that base path', async (prefix) => {
  const basePath = prefix === '/a' ? '/a/b' : '/lance'
  await expect(read([{ ...route, prefix }], { listen: { basePath } })).rejects.toThrow(
    `${prefix} overlaps ${basePath}`,
  )
})

it.for(['', '/', 'ui', '/ui/', '//ui', '/ui/..', '/u%69', '/ui?x'])(
  'the prefix "%s" is refused: it is not a plain path',
  async (prefix) => {
    await expect(read([{ ...route, prefix }])).rejects.toThrow('passThrough.0.prefix: expected a path of')
  },
)

it.for(['/ui', '/UI', '/ui/admin'])('the prefix %s is refused beside /ui', async (prefix) => {
  await expect(read([route, { ...route, prefix }])).rejects.toThrow(
    `passThrough.1.prefix: ${prefix} overlaps /ui, the prefix of another route`,
  )
})

it('with a host of its own, a prefix may be a path of the catalog', async () => {
  const host = 'console.example'
  expect(await read([{ ...route, host, prefix: '/docs' }])).toMatchObject({ passThrough: [{ host }] })
})

it.for([
  '',
  'Console.example',
  'console.example:443',
  'https://console.example',
  '*.example',
  '[::1]',
  'a..b',
])('the host "%s" is refused: it is not the name of a host', async (host) => {
  await expect(read([{ ...route, host }])).rejects.toThrow('passThrough.0.host: expected a host name')
})

it('the host of the catalog is refused: requests could reach the catalog', async () => {
  const upstream = 'https://catalog.example'
  await expect(read([{ ...route, upstream }])).rejects.toThrow(
    `passThrough.0.upstream: ${upstream} overlaps /v1 of the catalog at this host`,
  )
})

it.for([
  'https://catalog.example/v1',
  'https://CATALOG.example:443/V1/ui',
  'https://catalog.example/ui/../v1',
  'https://another-name.example/v1/ui',
])('the upstream %s is refused: it is below the path of catalogs', async (upstream) => {
  await expect(read([{ ...route, upstream }])).rejects.toThrow(
    `passThrough.0.upstream: ${upstream} is below /v1`,
  )
})

it('an upstream below the path of a catalog is refused', async () => {
  const catalog = { url: 'https://catalog.example/lance' }
  const upstream = 'https://catalog.example/Lance/ui'
  await expect(read([{ ...route, upstream }], { upstream: catalog })).rejects.toThrow('overlaps /lance')
})

it.for([
  'ftp://catalog.example/ui',
  'https://user:secret@catalog.example/ui',
  'https://catalog.example/ui?x=1',
  'https://catalog.example/u%69',
])('the upstream %s is refused', async (upstream) => {
  await expect(read([{ ...route, upstream }])).rejects.toThrow('passThrough.0.upstream: ')
})

it.for([[{}], ['everyone'], [{ groups: [] }], [undefined]])('allow: %j is refused', async ([allow]) => {
  await expect(read([{ ...route, allow }])).rejects.toThrow(/passThrough\.0\.allow/)
})

it('certificates are refused for plain http', async () => {
  const plain = { ...route, upstream: 'http://console.example', caFile: 'ca.pem' }
  await expect(read([plain])).rejects.toThrow('expected an https URL')
})

it('a header that identifies the caller is refused', async () => {
  const forged = { ...route, allowedRequestHeaders: ['x-remote-user'] }
  await expect(read([forged])).rejects.toThrow('it can identify the caller')
})

it.for([
  ['strict-transport-security', 'it concerns the whole origin'],
  ['Reporting-Endpoints', 'it concerns the whole origin'],
  ['service-worker-allowed', 'it concerns the whole origin'],
  ['x-request-id', 'the gateway sets it'],
  ['etag', 'it is always forwarded'],
])('the response header %s is refused', async ([name = '', reason]) => {
  const settings = { ...route, allowedResponseHeaders: ['x-total-count', name] }
  await expect(read([settings])).rejects.toThrow(reason)
})

it('the example in the documentation is accepted', async () => {
  const text = await readFile(new URL('../../docs/pass-through.md', import.meta.url), 'utf8')
  const example = /```yaml\n([^]*?)```/.exec(text)?.[1] ?? ''
  const { passThrough } = parse(example) as { passThrough: object[] }
  expect((await read(passThrough)).passThrough).toHaveLength(2)
})

it('all problems are reported at once', async () => {
  const routes = [
    { ...route, prefix: '/v1' },
    { ...route, prefix: '/docs' },
  ]
  await expect(read(routes)).rejects.toThrow(/passThrough\.0\.prefix.*\n.*passThrough\.1\.prefix/)
})
