import fc from 'fast-check'
import { expect, it } from 'vitest'
import { passThroughSchema } from '../../../src/config/pass-through-settings.ts'
import { CatalogError } from '../../../src/catalog-api/catalog-error.ts'
import {
  createPassThroughPaths,
  isBelowPrefix,
  toUpstreamPath,
} from '../../../src/gateway/pass-through/forwarded.ts'
import { dots, forbiddenSuffixes, oddSequences, separators } from '../../differential/target-dictionary.ts'
import { readRaw, rawRequest } from '../support/raw-request.ts'
import { startGatewayBefore, startUpstream } from '../support/running-gateway.ts'
import { isThorough } from '../../support/thorough.ts'

/** Replaces each percent-encoded byte, those of overlong and of invalid UTF-8 included. */
function decodeLeniently(text: string): string {
  const overlong = text
    .replaceAll(/%c0%af/gi, '/')
    .replaceAll(/%c0%ae/gi, '.')
    .replaceAll(/%u([0-9a-f]{4})/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)))
  return overlong.replaceAll(/(?:%[0-9a-f]{2})+/gi, (encoded) =>
    Buffer.from(encoded.replaceAll('%', ''), 'hex').toString('utf8'),
  )
}

/** Reads a target as the most careless of servers would: one step, which is repeated until nothing changes. */
function step(path: string): string {
  const [text = ''] = decodeLeniently(path)
    .normalize('NFKC')
    .split(/[?#\0]/)
  const segments: string[] = []
  for (const segment of text.replaceAll('\\', '/').split('/')) {
    const name = segment.replace(/;.*$/, '').trim()
    if (name === '..') segments.pop()
    else if (name !== '' && name !== '.') segments.push(name)
  }
  return `/${segments.join('/')}`.toUpperCase().toLowerCase()
}

/** The path by which a server that forgives everything would route a request. */
function readLeniently(path: string): string {
  const next = step(path)
  return next === path ? path : readLeniently(next)
}

/** Whether a careless server would take the target for one of the catalog. */
function touchesCatalog(target: string): boolean {
  const path = readLeniently(target)
  return path === '/v1' || path.startsWith('/v1/')
}

const catalog = new URL('https://host.example:8443')

/** A target below the prefix, of parts that servers read in different ways. */
const anyTarget = fc
  .array(
    fc.oneof(
      fc.constantFrom(...separators, ...dots, ...oddSequences),
      fc.constantFrom('/v1', '/V1', 'v1', '%76%31', '/v1/table', 'a', '/', '?', ...forbiddenSuffixes),
      fc.string({ maxLength: 3 }),
    ),
    { maxLength: 8 },
  )
  .map((parts) => `/ui${parts.join('')}`)

function accept(target: string, paths: ReturnType<typeof createPassThroughPaths>): string | undefined {
  try {
    return toUpstreamPath(target, paths)
  } catch (error) {
    expect(error).toBeInstanceOf(CatalogError)
    return undefined
  }
}

it.each(['https://host.example', 'https://host.example/ui', 'https://host.example/a/b'])(
  'no target becomes one of the catalog behind %s, however a server reads it',
  (upstream) => {
    const paths = createPassThroughPaths('/ui', new URL(upstream), [catalog])
    fc.assert(
      fc.property(anyTarget, (target) => {
        fc.pre(isBelowPrefix(target, '/ui'))
        const path = accept(target, paths)
        expect(path !== undefined && touchesCatalog(path)).toBe(false)
      }),
      { numRuns: isThorough ? 20_000 : 665 },
    )
  },
)

it('a plain target passes as it is', () => {
  const paths = createPassThroughPaths('/ui', new URL('https://host.example/console'), [catalog])
  const name = fc.stringMatching(/^[A-Za-z0-9_~-][A-Za-z0-9._~:@!$&'()*+,=-]{0,8}[A-Za-z0-9_~-]$/)
  fc.assert(
    fc.property(fc.array(name, { maxLength: 6 }), (names) => {
      const rest = names.map((one) => `/${one}`).join('')
      expect(toUpstreamPath(`/ui${rest}?q=%2F..%2Fv1`, paths)).toBe(`/console${rest}`)
    }),
  )
})

it('a path of a catalog is refused at another port of its host, too, with its base path', () => {
  const lance = new URL('https://host.example/Lance')
  const paths = createPassThroughPaths('/ui', new URL('https://host.example:9000'), [catalog, lance])
  for (const path of ['/v1', '/V1/table', '/%761/x', '/Admin/authz/acl/add', '/lance', '/LANCE/ui']) {
    expect(() => toUpstreamPath(`/ui${path}`, paths)).toThrow('belongs to the catalog')
  }
  expect(toUpstreamPath('/ui/v10', paths)).toBe('/v10')
  expect(toUpstreamPath('/ui/x/v1', paths)).toBe('/x/v1')
})

const spellings = [
  '/v1/table',
  '/V1/table',
  '/%76%31/table',
  '//v1/table',
  '/;/v1/table',
  '/%2fv1/table',
  '/../v1/table',
  '/%2e%2e/v1/table',
  '/a/..%2fv1/table',
  '/..\\v1/table',
].map((path) => `/ui${path}`)

// How servers read them is above: these reach the function.
it.each(['/console', ''])('no spelling reaches the catalog at the host of "%s"', async (path) => {
  const host = await startUpstream()
  const route = { prefix: '/ui', upstream: host.url + path, allow: { users: ['dev'] } }
  const gateway = await startGatewayBefore(host.url, {
    settings: { passThrough: passThroughSchema.parse({ port: 0, routes: [route] }) },
  })
  const head = ['host: g', `x-api-key: ${gateway.key('dev')}`, 'connection: close']
  for (const form of spellings.flatMap((target) => [target, `http://g${target}`])) {
    const sent = rawRequest([`GET ${form} HTTP/1.1`, ...head])
    const text = (await readRaw(gateway.passThroughUrl ?? '', sent)).toString()
    expect(text, form).toMatch(/^HTTP\/1\.1 (200|400|403|404) /)
  }
  expect(host.requests.map(({ target }) => target).filter(touchesCatalog)).toEqual([])
})
