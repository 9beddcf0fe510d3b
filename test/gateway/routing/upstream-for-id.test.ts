import fc from 'fast-check'
import { expect, it, onTestFinished } from 'vitest'
import { directOpener } from '../../support/direct-opener.ts'
import { cacheRoutes, createRouteFinder, type FindRoute } from '../../../src/gateway/stages/match.ts'
import { upstreamSchema } from '../../../src/config/upstream/upstream-settings.ts'
import { createUpstreams } from '../../../src/gateway/upstream/upstreams.ts'
import { buildTarget } from '../../../src/catalog-api/request-target.ts'
import { anyTarget } from '../../catalog-api/arbitrary-targets.ts'
import { fixed } from '../../../src/lib/fs/follow-files.ts'

/** They do not exist, and no request is sent. */
function openUpstreams(
  mounts: readonly { readonly name: string; readonly namespaces: string[][] | undefined }[],
) {
  return createUpstreams(
    mounts.map((mount) => ({
      ...upstreamSchema.parse({ url: 'http://127.0.0.1:9' }),
      ...mount,
      opener: directOpener,
      credentials: fixed([]),
    })),
  )
}

it('finds the longest namespace for any namespaces', () => {
  const id = fc.array(fc.constantFrom('a', 'b', 'a$b', ''), { maxLength: 4 })
  const namespaces = fc.uniqueArray(id, { maxLength: 6, selector: (parts) => JSON.stringify(parts) })
  fc.assert(
    fc.property(namespaces, fc.array(id, { maxLength: 8 }), (all, ids) => {
      const named = all
        .filter((parts) => parts.length > 0)
        .map((parts) => ({ name: JSON.stringify(parts), parts }))
      const slowly = (id: readonly string[]): string =>
        named
          .filter(({ parts }) => parts.every((part, index) => part === id[index]))
          .toSorted((one, other) => other.parts.length - one.parts.length)[0]?.name ?? 'rest'
      const upstreams = [
        { name: 'rest', namespaces: undefined },
        ...named.map(({ name, parts }) => ({ name, namespaces: [parts] })),
      ]
      const opened = openUpstreams(upstreams)
      try {
        expect(ids.map((id) => opened.forId(id).name)).toEqual(ids.map(slowly))
      } finally {
        opened.close()
      }
    }),
    { numRuns: 20 },
  )
})

function counted() {
  const upstreams = openUpstreams([
    { name: 'rest', namespaces: undefined },
    { name: 'named', namespaces: [['a'], ['b', 'c']] },
  ])
  onTestFinished(() => upstreams.close())
  const find = createRouteFinder(upstreams, '', 'namespaces')
  const requested: string[] = []
  const findAndCount: FindRoute = (method, target, database) => {
    requested.push(`${method} ${target}${database === undefined ? '' : ` in ${database}`}`)
    return find(method, target, database)
  }
  return { find, findAndCount, requested }
}

function outcomeOf(find: FindRoute, method: string, target: string, database?: string): unknown {
  try {
    return find(method, target, database)
  } catch (error) {
    return error
  }
}

it('cached routes equal uncached ones, whatever was requested before', () => {
  const { find, findAndCount } = counted()
  const remembering = cacheRoutes(findAndCount)
  const texts = anyTarget
    .filter(({ id }) => id.every((part) => !part.includes('$')))
    .map((target) => buildTarget(target))
  const pool = fc.array(
    fc.oneof(texts, fc.string({ maxLength: 20 }), fc.constant('/v1/table/a$b/describe')),
    { minLength: 1, maxLength: 8 },
  )
  const asks = fc.array(
    fc.tuple(
      fc.constantFrom('GET', 'POST', 'PUT', 'get'),
      fc.nat(),
      fc.constantFrom('', '/', '?', '?a=b'),
      fc.constantFrom(undefined, '', 'any', 'x1', 'x2', 'a'),
    ),
    { maxLength: 30 },
  )
  fc.assert(
    fc.property(pool, asks, (targets, requests) => {
      for (const [method, which, more, database] of requests) {
        const target = `${targets[which % targets.length] ?? ''}${more}`
        expect(outcomeOf(remembering, method, target, database)).toEqual(
          outcomeOf(find, method, target, database),
        )
      }
    }),
  )
})

it('parses a target once, each spelling and method separately', () => {
  const { findAndCount, requested } = counted()
  const remembering = cacheRoutes(findAndCount)
  for (const _ of [1, 2, 3]) {
    remembering('POST', '/v1/table/a$b/describe')
    remembering('POST', '/v1/table/a%24b/describe')
    outcomeOf(remembering, 'GET', '/v1/table/a$b/describe')
  }
  expect(requested.filter((ask) => ask.startsWith('POST'))).toEqual([
    'POST /v1/table/a$b/describe',
    'POST /v1/table/a%24b/describe',
  ])
  // Refusals are not cached.
  expect(requested.filter((ask) => ask.startsWith('GET'))).toHaveLength(3)
})

it('parses a target once for each database, and never returns the route of another one', () => {
  const { findAndCount, requested } = counted()
  const remembering = cacheRoutes(findAndCount)
  const target = '/v1/table/t/describe'
  for (const _ of [1, 2]) {
    const ids = [undefined, 'any', 'x1', 'x2'].map(
      (database) => remembering('POST', target, database).route.id,
    )
    expect(ids).toEqual([['t'], ['t'], ['x1', 't'], ['x2', 't']])
  }
  expect(requested).toEqual(
    [target, `${target} in any`, `${target} in x1`, `${target} in x2`].map((ask) => `POST ${ask}`),
  )
})

it('many or long targets do not increase memory', () => {
  const { findAndCount, requested } = counted()
  const remembering = cacheRoutes(findAndCount)
  const long = `/v1/table/${'a'.repeat(600)}/describe`
  for (const _ of [1, 2]) remembering('POST', long)
  expect(requested).toHaveLength(2)
  for (const _ of [1, 2]) remembering('POST', '/v1/table/t/describe', 'd'.repeat(600))
  expect(requested.splice(2)).toHaveLength(2)
  const others = Array.from({ length: 5_000 }, (_, number) => `/v1/table/t${number}/describe`)
  for (const other of others) remembering('POST', other)
  remembering('POST', others[4_999] ?? '')
  expect(requested).toHaveLength(5_002)
  remembering('POST', others[0] ?? '')
  expect(requested).toHaveLength(5_003)
})
