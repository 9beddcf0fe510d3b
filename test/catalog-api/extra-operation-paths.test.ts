import fc from 'fast-check'
import { expect, it } from 'vitest'
import { describeNameProblem, describePathProblem, unifies } from '../../src/catalog-api/extra-operation.ts'
import { getOperation, operationNames } from '../../src/catalog-api/operations.ts'
import { parseTarget } from '../../src/catalog-api/request-target.ts'

const knownPaths = operationNames.flatMap((name) => {
  const { path, aliases } = getOperation(name)
  return [path, ...aliases]
})
const knownWords = [
  ...new Set(knownPaths.flatMap((path) => path.split('/')).filter((word) => /^\w/.test(word))),
]

/** A word of a known path, in any of its spellings, or another one. */
const anySegment = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...knownWords) },
  fc.constantFrom(...knownWords).map((word) => word.replaceAll('_', '-')),
  fc.constantFrom(...knownWords).map((word) => word.toUpperCase()),
  fc.constantFrom('mirror', 'file_cache', 'prewarm', 'x'),
)
const anyPath = fc
  .tuple(fc.array(anySegment, { minLength: 1, maxLength: 4 }), fc.constantFrom('', '/'))
  .map(([segments, end]) => `/v1/table/{id}/${segments.join('/')}${end}`)

const foldPath = (path: string): string => path.toLowerCase().replaceAll(/[-_]/g, '').replace(/\/$/, '')

function toPattern(path: string): RegExp {
  const parts = path.split('/').map((part) => (part.startsWith('{') ? '[^/]+' : part))
  return new RegExp(`^${parts.join('/')}$`)
}

/** Fills the placeholders of a path with the words that another one has there. */
function fillPlaceholders(path: string, source: string): string {
  const words = source.split('/').map((word) => (word.startsWith('{') ? 'x' : word))
  const parts = path.split('/').map((part, index) => (part.startsWith('{') ? (words[index] ?? 'x') : part))
  return parts.join('/')
}

/** Slow and obvious: builds a request for one path that has the words of the other one, and matches it with both. */
function haveCommonRequest(one: string, other: string): boolean {
  const [first, second] = [foldPath(one), foldPath(other)]
  const request = fillPlaceholders(first, second)
  return toPattern(first).test(request) && toPattern(second).test(request)
}

it('a path is refused if and only if a request could match a known route, too', () => {
  fc.assert(
    fc.property(anyPath, (path) => {
      const isTaken = knownPaths.some((known) => haveCommonRequest(path, known))
      expect(describePathProblem(path) !== undefined).toBe(isTaken)
      for (const known of knownPaths) expect(unifies(path, known)).toBe(haveCommonRequest(path, known))
    }),
  )
})

it('two paths of extra operations unify if and only if a request could match both', () => {
  fc.assert(
    fc.property(anyPath, anyPath, (one, other) => {
      expect(unifies(one, other)).toBe(haveCommonRequest(one, other))
      expect(unifies(other, one)).toBe(unifies(one, other))
    }),
  )
})

it('no request for an accepted path is one for a known operation', () => {
  fc.assert(
    fc.property(anyPath, fc.constantFrom('orders', 'a$b', 'version', 'index', '%24'), (path, id) => {
      fc.pre(describePathProblem(path) === undefined)
      for (const method of ['GET', 'POST'])
        expect(() => parseTarget(method, path.replace('{id}', id))).toThrow('unknown route')
    }),
  )
})

it.each(knownPaths)('%s is no path of an extra operation', (path) => {
  expect(describePathProblem(path)).toMatch(/serves already|is not a path/)
  expect(describePathProblem(`${path}/`)).toMatch(/serves already|is not a path/)
})

it.each([
  '/v1/table/{id}',
  '/v1/table/{id}//mirror',
  '/v1/table/{id}/../drop',
  '/v1/table/{id}/cl%6Fne',
  '/v1/table/{id}/{name}',
  '/v1/table/mirror',
  '/v1/namespace/{id}/mirror',
  '/v2/table/{id}/mirror',
  '/v1/table/{id}/mirror?x=1',
  '/v1/table/{id}/mirror\n',
  '/lance/v1/table/{id}/mirror',
])('%j is no path of an operation on a table', (path) => {
  expect(describePathProblem(path)).toContain('expected /v1/table/{id}/')
})

it.each(['QueryTable', 'Querytable', 'DROPTABLE', 'OverwriteTable', 'PassThrough'])(
  'the name %s is taken',
  (name) => {
    expect(describeNameProblem(name)).toContain('is taken by the catalog API')
  },
)

it.each(['', 'prewarm', 'all', 'admin', 'Prewarm Table', 'Prewarm"', 'Über', 'A'.repeat(65)])(
  'the name %j is not valid',
  (name) => {
    expect(describeNameProblem(name)).toContain('expected a capital letter')
  },
)
