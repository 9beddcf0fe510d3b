import fc from 'fast-check'
import { expect, it } from 'vitest'
import { compilePolicies } from '../../../src/policy/policy-set.ts'
import {
  compilePolicySet,
  createAuthorizationRequest,
  createCaller,
  type WrittenPolicy,
  type WrittenRule,
  parseDocuments,
} from '../policy-builder.ts'

const ann = createCaller('ann')
const rule = (effect: 'allow' | 'deny', operations: readonly string[], when?: string): WrittenRule => ({
  id: `${effect}s`,
  effect,
  subjects: { any: true },
  operations,
  ...(when !== undefined && { when }),
})
const tagged: readonly WrittenPolicy[] = [
  {
    name: 'crm',
    namespace: ['crm'],
    tags: { namespace: ['eu'], tables: { customers: { tags: ['pii'] } } },
    rules: [],
  },
  { name: 'deep', namespace: ['crm', 'a', 'b'], tags: { namespace: ['secret'] }, rules: [] },
]
const under = (...rules: readonly WrittenRule[]): readonly WrittenPolicy[] => [
  ...tagged,
  { name: 'root', namespace: [], rules },
]

const isAllowed = (
  policies: readonly WrittenPolicy[],
  operation: 'DropTable' | 'RenameTable',
  id: readonly string[],
): boolean =>
  compilePolicySet(policies).decide(createAuthorizationRequest(ann, operation, 'table', id)).allowed

it.for<[when: string, id: readonly string[], expected: boolean]>([
  ['"pii" in tags', ['crm', 'customers'], true],
  ['"pii" in tags', ['crm', 'orders'], false],
  ['"pii" in tags', ['crm', 'customers', 'customers'], false],
  ['"pii" in tags', ['hr', 'customers'], false],
  ['"eu" in tags', ['crm', 'customers'], true],
  ['"eu" in tags', ['crm', 'a', 'b', 'c', 'table'], true],
  ['"secret" in tags && !("pii" in tags)', ['crm', 'a', 'b', 'c', 'table'], true],
  ['"secret" in tags', ['crm', 'a', 'table'], false],
])('an allow if %s allows %o: %s', ([when, id, expected]) => {
  expect(isAllowed(under(rule('allow', ['drop'], when)), 'DropTable', id)).toBe(expected)
})

it.for<[namespace: readonly string[], expected: boolean]>([
  [[], false],
  [['crm'], false],
  [['crm', 'a'], true],
  [['hr'], true],
])(
  'what is done to everything beneath %o is denied if a tag beneath denies it: allowed %s',
  ([id, expected]) => {
    const set = compilePolicySet(under(rule('allow', ['drop']), rule('deny', ['drop'], '"pii" in tags')))
    expect(set.decideBeneath(createAuthorizationRequest(ann, 'DropTable', 'namespace', id)).allowed).toBe(
      expected,
    )
  },
)

it('tags that could not be read are unknown, also in another thread', () => {
  const [document] = parseDocuments([{ name: 'p', namespace: [], rules: [] }])
  const tags = { namespace: 'unknown', tables: new Map(), line: 1, column: 1 } as const
  const documents = structuredClone(document === undefined ? [] : [{ ...document, tags }])
  expect(compilePolicies(documents).findTags({ namespace: [], table: undefined }).names).toBe('unknown')
})

const names = fc.subarray(['pii', 'eu', 'x'])
const optional = fc.option(
  names.filter(({ length }) => length > 0),
  { nil: undefined },
)

it('a restriction by tags leaves exactly the declared columns that have none of them, own or inherited', () => {
  const columns = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), names, { minKeys: 1 })
  let left = 0
  fc.assert(
    fc.property(
      columns,
      optional,
      optional,
      optional,
      names.filter(({ length }) => length > 0),
      (columns, root, crm, table, without) => {
        const tags = {
          ...(crm && { namespace: crm }),
          tables: {
            t: {
              ...(table && { tags: table }),
              columns: Object.fromEntries(
                Object.entries(columns).map(([name, tags]) => [
                  name,
                  { type: 'text', ...(tags.length > 0 && { tags }) },
                ]),
              ),
            },
          },
        }
        const restrict = [{ id: 'r', subjects: { any: true as const }, tables: ['*'], columns: { without } }]
        const set = compilePolicySet([
          {
            name: 'root',
            namespace: [],
            tags: {
              namespace: ['pii', 'eu', 'x'].filter((tag) => root?.includes(tag) ?? false).concat('other'),
            },
            rules: [],
          },
          { name: 'declares', namespace: ['elsewhere'], tags: { namespace: ['pii', 'eu', 'x'] }, rules: [] },
          { name: 'crm', namespace: ['crm'], tags, restrict, rules: [] },
        ])
        const remaining = (name: string): readonly string[] => [
          ...(set
            .findRestriction(createAuthorizationRequest(ann, 'QueryTable', 'table', ['crm', name]))
            ?.columns.keys() ?? ['all']),
        ]
        const expected = Object.keys(columns).filter(
          (name) =>
            ![root, crm, table, columns[name]].some((tags) => tags?.some((tag) => without.includes(tag))),
        )
        left += expected.length
        expect(remaining('t')).toEqual(expected)
        expect(remaining('undeclared')).toEqual([])
      },
    ),
  )
  expect(left).toBeGreaterThan(10)
})
