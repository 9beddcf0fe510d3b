import fc from 'fast-check'
import { anonymousPrincipal } from '../../src/identity/principal.ts'
import {
  type AuthorizationRequest,
  type Fact,
  unknown,
} from '../../src/policy/conditions/authorization-request.ts'
import { conditionSamples } from './policy-conditions.ts'
import {
  createAuthorizationRequest,
  createCaller,
  type WrittenCommits,
  type WrittenPolicy,
  type WrittenRule,
  type WrittenTags,
} from './policy-builder.ts'

// Few names of each kind, so that policies and requests overlap. The last two look alike but differ.
const part = fc.constantFrom('a', 'b', '\u00e9', 'e\u0301')
const path = fc.array(part, { maxLength: 3 })
const users = ['alice', 'bob', 'corp:alice', 'anonymous']
const groups = ['sales', 'ops', 'alice']
const keys = ['k1', 'k2']
const permission = fc.constantFrom(
  'DropTable',
  'DropNamespace',
  'DropView',
  'RenameTable',
  'CreateTableBranch',
  'CherryPickTableBranch',
  'ListTables',
  'QueryTable',
  'CreateTableVersion',
  'CreateTableTag',
  'RegisterTable',
  'VendCredentials',
)
const operation = fc.oneof(
  permission,
  fc.constantFrom('all', 'change', 'read', 'drop', 'write', 'commit', 'admin'),
)
const tableName = fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 3 })
const pattern = fc
  .string({ unit: fc.constantFrom('a', 'b', '*'), minLength: 1, maxLength: 4 })
  .filter((text) => !text.includes('**'))

const named = fc.oneof(
  fc.record({ users: fc.subarray(users, { minLength: 1 }) }),
  fc.record({ groups: fc.subarray(groups, { minLength: 1 }) }),
  fc.record({ keys: fc.subarray(keys, { minLength: 1 }) }),
  fc.record({ users: fc.subarray(users, { minLength: 1 }), groups: fc.subarray(groups, { minLength: 1 }) }),
)
const subjects = fc.oneof(
  { weight: 3, arbitrary: named },
  { weight: 1, arbitrary: fc.constant({ any: true as const }) },
  { weight: 1, arbitrary: named.map((except) => ({ any: true as const, except })) },
  { weight: 1, arbitrary: fc.constant({ anonymous: true as const }) },
  { weight: 1, arbitrary: fc.constant({ everyone: true as const }) },
  { weight: 1, arbitrary: named.map((except) => ({ everyone: true as const, except })) },
)
const when = fc.constantFrom(...conditionSamples.keys())

/** `tables` is set only for operations on tables. */
function arbitraryRule(effect: fc.Arbitrary<'allow' | 'deny'>): fc.Arbitrary<Omit<WrittenRule, 'id'>> {
  const common = { effect, subjects, operations: fc.uniqueArray(operation, { minLength: 1, maxLength: 3 }) }
  const plain = fc.oneof(
    { weight: 3, arbitrary: fc.record(common) },
    {
      weight: 2,
      arbitrary: fc
        .record({ ...common, tables: fc.array(pattern, { minLength: 1, maxLength: 2 }) })
        .map((written) => ({ ...written, operations: [...written.operations, 'drop'] })),
    },
  )
  return fc.oneof(
    { weight: 2, arbitrary: plain },
    { weight: 1, arbitrary: fc.tuple(plain, when).map(([rule, when]) => ({ ...rule, when })) },
  )
}

/** The end of a rule: that of requests, or a second later. */
const until = fc.oneof(
  { weight: 6, arbitrary: fc.constant(undefined) },
  { weight: 1, arbitrary: fc.constantFrom('2026-06-15T12:00:00Z', '2026-06-15T14:00:01+02:00') },
)

/** Rules; some allows end, and some rules with a condition have a message. */
function arbitraryWrittenRule(): fc.Arbitrary<Omit<WrittenRule, 'id'>> {
  const effect = fc.oneof(fc.constant('allow' as const), fc.constantFrom('allow' as const, 'deny' as const))
  return fc.tuple(arbitraryRule(effect), fc.boolean(), until).map(([rule, hasMessage, until]) => ({
    ...rule,
    ...(rule.when !== undefined && hasMessage && { message: 'ask the owners' }),
    ...(rule.effect === 'allow' && until !== undefined && { until }),
  }))
}

const commits: fc.Arbitrary<WrittenCommits> = fc.oneof(
  fc.constant({ metadata: ['ticket'] }),
  named.map((except) => ({ metadata: ['ticket'], except })),
)

const tagNames = fc.subarray(['pii', 'open'], { minLength: 1 })
const tags: fc.Arbitrary<WrittenTags> = fc.record(
  { namespace: tagNames, tables: fc.dictionary(tableName, fc.record({ tags: tagNames }), { maxKeys: 2 }) },
  { requiredKeys: [] },
)

export const arbitraryPolicies: fc.Arbitrary<readonly WrittenPolicy[]> = fc
  .array(
    fc.record({
      namespace: path,
      inherit: fc.oneof(
        { weight: 4, arbitrary: fc.constant(true) },
        { weight: 1, arbitrary: fc.constant(false) },
      ),
      final: fc.oneof(
        { weight: 4, arbitrary: fc.constant(undefined) },
        { weight: 1, arbitrary: fc.uniqueArray(operation, { minLength: 1, maxLength: 2 }) },
      ),
      commits: fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: commits }),
      rules: fc.array(arbitraryWrittenRule(), { maxLength: 3 }),
    }),
    { maxLength: 7 },
  )
  .map((written) =>
    written.map(({ final, commits, rules, ...policy }, index) => ({
      ...policy,
      name: `p${index}`,
      ...(final && { final }),
      ...(commits && { commits }),
      rules: rules.map((rule, index) => ({ ...rule, id: `r${index}` })),
    })),
  )

const tagConditions = [...conditionSamples.keys()].filter((text) => text.includes('in tags'))

/** Policies that declare tags, most of whose rules ask for them. */
export const taggedPolicies: fc.Arbitrary<readonly WrittenPolicy[]> = fc
  .tuple(
    arbitraryPolicies,
    fc.array(fc.option(tags), { minLength: 7, maxLength: 7 }),
    fc.array(fc.constantFrom(undefined, ...tagConditions), { minLength: 3, maxLength: 3 }),
  )
  .map(([written, tags, conditions]) =>
    written.map(({ rules, ...policy }, index) => ({
      ...policy,
      ...(tags[index] && { tags: tags[index] }),
      rules: rules.map(({ when: _when, message: _message, ...rule }, number) => {
        const when = conditions[(index + number) % conditions.length]
        return { ...rule, ...(when !== undefined && { when }) }
      }),
    })),
  )

const principal = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(fc.constantFrom(...users, 'eve'), fc.subarray([...groups, 'others', 'more', 'most']))
      .map(([name, groups]) => createCaller(name, ...groups)),
  },
  { weight: 1, arbitrary: fc.constant(anonymousPrincipal) },
)

/** Facts of requests and operations that the generated conditions read. */
const overrides = fc.record({
  request: fc.record({
    context: fc.constantFrom(
      new Map<string, string>(),
      new Map([['env', 'prod']]),
      new Map([['env', 'test']]),
    ),
  }),
  operation: fc.record({
    branch: fc.constantFrom<Fact<string>[]>('main', 'dev', 'ci/7', unknown),
    metadata: fc.constantFrom(new Map<string, string>(), new Map([['ticket', 'T-1']])),
  }),
})

/** A request for a namespace or an object in one. */
export const arbitraryRequest: fc.Arbitrary<AuthorizationRequest> = fc
  .oneof(
    fc.record({ principal, permission, overrides, kind: fc.constant('namespace' as const), id: path }),
    fc.record({
      principal,
      permission,
      overrides,
      kind: fc.constant('none' as const),
      id: fc.constant([]),
    }),
    fc.record({
      principal,
      permission,
      overrides,
      kind: fc.constantFrom('table', 'materialized_view', 'view', 'function'),
      id: fc.tuple(path, tableName).map(([namespace, name]) => [...namespace, name]),
    }),
    fc.record({
      principal,
      permission,
      overrides,
      kind: fc.constant('transaction' as const),
      id: fc.tuple(path, tableName, part).map(([namespace, name, own]) => [...namespace, name, own]),
    }),
  )
  .map(({ principal, permission, kind, id, overrides }) =>
    createAuthorizationRequest(principal, permission, kind, id, overrides),
  )

/** A request for a namespace and everything beneath. */
export const arbitraryRequestBeneath: fc.Arbitrary<AuthorizationRequest> = fc
  .record({ principal, permission, overrides, id: fc.array(part, { maxLength: 2 }) })
  .map(({ principal, permission, id, overrides }) =>
    createAuthorizationRequest(principal, permission, 'namespace', id, overrides),
  )
