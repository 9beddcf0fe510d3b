import fc from 'fast-check'
import { expect, it } from 'vitest'
import { compareIdentifiers } from '../../../src/gateway/listing/listing-page.ts'
import { runningBackend } from '../../../src/backend/test/support/running-backend.ts'
import {
  createAuthorizationRequest,
  createCaller,
  compilePolicySet,
  type WrittenPolicy,
  type WrittenRule,
} from '../../policy/policy-builder.ts'
import { openGateway, type TestedGateway } from '../support/open-gateway.ts'
import { listNames, readPages } from '../support/read-pages.ts'

type Id = readonly string[]

const users = ['ann', 'bob']
const some = fc.constantFrom('a', 'b', 'c')
const rule: fc.Arbitrary<Omit<WrittenRule, 'id'>> = fc.oneof(
  fc.record({
    effect: fc.constantFrom('allow' as const, 'allow' as const, 'deny' as const),
    subjects: fc.constantFrom({ users: ['ann'] }, { users: ['bob'] }, { any: true as const }),
    operations: fc.constantFrom(['browse'], ['DescribeTable'], ['DescribeNamespace'], ['ListTables']),
  }),
  fc.record({
    effect: fc.constantFrom('allow' as const, 'deny' as const),
    subjects: fc.constantFrom({ users: ['ann'] }, { any: true as const }),
    operations: fc.constant(['DescribeTable']),
    tables: fc.constantFrom(['t*'], ['*1', 't2*'], ['t10'], ['*']),
  }),
)
const generated: fc.Arbitrary<readonly WrittenPolicy[]> = fc
  .array(
    fc.record({
      namespace: fc.array(some, { maxLength: 2 }),
      inherit: fc.constantFrom(true, true, true, false),
      rules: fc.array(rule, { minLength: 1, maxLength: 3 }),
    }),
    { minLength: 2, maxLength: 6 },
  )
  .map((written) =>
    written.map((policy, index) => ({
      ...policy,
      name: `p${index}`,
      rules: policy.rules.map((rule, index) => ({ ...rule, id: `r${index}` })),
    })),
  )

/** All namespaces with two levels of three names, and their numbers of tables. */
const namespaces: readonly Id[] = ['a', 'b', 'c'].flatMap((one) => [
  [one],
  ...['a', 'b', 'd'].map((two) => [one, two]),
])
const tablesIn = (namespace: Id): string[] =>
  Array.from({ length: namespace.length === 1 ? 6 : 12 }, (_, index) => `t${index}`)
const everyTable: readonly Id[] = [[], ...namespaces].flatMap((namespace) =>
  tablesIn(namespace).map((name) => [...namespace, name]),
)
const spelled = (id: Id): string => (id.length === 0 ? '$' : id.join('$'))

it('full pages list all describable objects once, in order', async () => {
  const backend = await runningBackend()
  for (const id of namespaces) await backend.post(`/v1/namespace/${spelled(id)}/create`, {})
  await Promise.all(everyTable.map((id) => backend.post(`/v1/table/${spelled(id)}/declare`, {})))
  const counted = { listed: 0, hidden: 0, onTheWay: 0 }
  await fc.assert(
    fc.asyncProperty(generated, fc.constantFrom(2, 7, 40, 1_000), async (policies, limit) => {
      const gateway = await openGateway(backend.url(), { users, policies })
      try {
        for (const as of users) await compare({ gateway, as, limit, policies }, counted)
      } finally {
        await gateway.close()
      }
    }),
    { numRuns: 3, seed: 41, endOnFailure: true },
  )
  expect(Math.min(...Object.values(counted)), JSON.stringify(counted)).toBeGreaterThan(0)
})

interface Compared {
  readonly gateway: TestedGateway
  readonly as: string
  readonly limit: number
  readonly policies: readonly WrittenPolicy[]
}

/** Compares every listing with the objects that the caller may describe, requested one by one. */
async function compare(
  { gateway, as, limit, policies }: Compared,
  counted: { listed: number; hidden: number; onTheWay: number },
): Promise<void> {
  const described = async (kind: string, ids: readonly Id[]): Promise<Id[]> => {
    const responses = await Promise.all(
      ids.map((id) => gateway.post(`/v1/${kind}/${spelled(id)}/describe`, { as, body: {} })),
    )
    return ids.filter((_, index) => responses[index]?.status === 200)
  }
  const listed = async (target: string): Promise<string[] | undefined> => {
    if ((await gateway.get(target, { as })).status !== 200) return undefined
    const pages = await readPages(gateway, target, { as, limit })
    expect(pages.slice(0, -1).every(({ names }) => names.length === limit)).toBe(true)
    if (pages.length > 1) expect(pages.at(-1)?.names).not.toEqual([])
    return listNames(pages)
  }
  const tables = (await described('table', everyTable)).toSorted(compareIdentifiers)
  const spaces = await described('namespace', namespaces)
  const all = await listed('/v1/table')
  if (all !== undefined) expect(all).toEqual(tables.map(spelled))
  counted.listed += all?.length ?? 0
  counted.hidden += all === undefined ? 0 : everyTable.length - all.length
  const set = compilePolicySet(policies)
  for (const namespace of [[], ...namespaces]) {
    const within = await listed(`/v1/namespace/${spelled(namespace)}/table/list`)
    if (within !== undefined) expect(within).toEqual(childrenOf(namespace, tables))
    const below = await listed(`/v1/namespace/${spelled(namespace)}/list`)
    if (below === undefined) continue
    const { request } = createAuthorizationRequest(createCaller(as), 'DescribeNamespace', 'namespace', [])
    const shown = childrenOf(namespace, namespaces).filter((name) =>
      set.visibilityFor({ principal: createCaller(as), request })('namespace', [...namespace, name]),
    )
    expect(below).toEqual(shown)
    const onTheWay = [...tables, ...spaces].filter((id) => id.length > namespace.length + 1)
    const needed = [...spaces, ...onTheWay.map((id) => id.slice(0, namespace.length + 1))]
    expect(shown).toEqual(expect.arrayContaining(childrenOf(namespace, needed)))
    counted.onTheWay += shown.length - childrenOf(namespace, spaces).length
  }
}

function childrenOf(namespace: Id, ids: readonly Id[]): string[] {
  const children = ids.filter(
    (id) => id.length === namespace.length + 1 && namespace.every((part, index) => part === id[index]),
  )
  return [...new Set(children.map((id) => id.at(-1) ?? ''))].toSorted()
}
