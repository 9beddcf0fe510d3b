import fc from 'fast-check'
import { caller, type Question, type WrittenPolicy, type WrittenRule } from './written-policy.ts'

// Few names of each kind, so that policies and questions meet. The last two look the same and are not.
const part = fc.constantFrom('a', 'b', '\u00e9', 'e\u0301')
const path = fc.array(part, { maxLength: 3 })
const users = ['alice', 'bob', 'corp:alice']
const groups = ['sales', 'ops', 'alice']
const permission = fc.constantFrom(
  'DropTable',
  'DropNamespace',
  'ListTables',
  'QueryTable',
  'VendCredentials',
)
const operation = fc.oneof(permission, fc.constantFrom('all', 'read', 'drop', 'write'))
const tableName = fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 3 })
const pattern = fc
  .string({ unit: fc.constantFrom('a', 'b', '*'), minLength: 1, maxLength: 4 })
  .filter((text) => !text.includes('**'))

const subjects = fc.oneof(
  fc.record({ users: fc.subarray(users, { minLength: 1 }) }),
  fc.record({ groups: fc.subarray(groups, { minLength: 1 }) }),
  fc.record({ users: fc.subarray(users, { minLength: 1 }), groups: fc.subarray(groups, { minLength: 1 }) }),
  fc.constant({ any: true as const }),
)

/** A rule with an effect; `tables` only beside operations that tables have. */
export function rule(effect: fc.Arbitrary<'allow' | 'deny'>): fc.Arbitrary<Omit<WrittenRule, 'id'>> {
  const common = { effect, subjects, operations: fc.uniqueArray(operation, { minLength: 1, maxLength: 3 }) }
  return fc.oneof(
    { weight: 3, arbitrary: fc.record(common) },
    {
      weight: 2,
      arbitrary: fc
        .record({ ...common, tables: fc.array(pattern, { minLength: 1, maxLength: 2 }) })
        .map((written) => ({ ...written, operations: [...written.operations, 'drop'] })),
    },
  )
}

/** Any policies of one folder. */
export const policies: fc.Arbitrary<readonly WrittenPolicy[]> = fc
  .array(
    fc.record({
      namespace: path,
      inherit: fc.oneof(
        { weight: 4, arbitrary: fc.constant(true) },
        { weight: 1, arbitrary: fc.constant(false) },
      ),
      rules: fc.array(rule(fc.oneof(fc.constant('allow' as const), fc.constantFrom('allow', 'deny'))), {
        maxLength: 3,
      }),
    }),
    { maxLength: 7 },
  )
  .map((written) =>
    written.map((policy, index) => ({
      ...policy,
      name: `p${index}`,
      rules: policy.rules.map((rule, index) => ({ ...rule, id: `r${index}` })),
    })),
  )

const principal = fc
  .tuple(fc.constantFrom(...users, 'eve'), fc.subarray([...groups, 'others', 'more', 'most']))
  .map(([name, groups]) => caller(name, ...groups))

/** A question about a namespace or something in one. */
export const question: fc.Arbitrary<Question> = fc.oneof(
  fc.record({ principal, permission, kind: fc.constant('namespace' as const), id: path }),
  fc.record({ principal, permission, kind: fc.constant('none' as const), id: fc.constant([]) }),
  fc.record({
    principal,
    permission,
    kind: fc.constantFrom('table' as const, 'transaction' as const, 'materialized_view' as const),
    id: fc.tuple(path, tableName).map(([namespace, name]) => [...namespace, name]),
  }),
)

/** A question about a namespace and all beneath. */
export const questionBeneath: fc.Arbitrary<Question> = fc.record({
  principal,
  permission,
  kind: fc.constant('namespace' as const),
  id: fc.array(part, { maxLength: 2 }),
})
