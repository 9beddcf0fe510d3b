import { expect, it } from 'vitest'
import { attackedGateway } from '../support/attacked-gateway.ts'
import { policyOf, ruleFor } from '../support/policy-templates.ts'

// `owner` may do everything in `sandbox`, and nothing elsewhere. A registered function computes columns, with the secrets
// that are bound to it; both are objects of a namespace, which only the body names.
const attacked = attackedGateway({
  users: ['owner', 'trusted'],
  policies: [
    policyOf(['sandbox'], [ruleFor(['owner', 'trusted'])]),
    policyOf(['lib'], [ruleFor(['trusted'], ['UseFunction', 'UseSecret'], { tables: ['embed'] })], {
      onDeny: 404,
    }),
    policyOf([], [ruleFor(['trusted'], ['ReadAnyTable'])]),
  ],
})

const add = '/v1/table/sandbox$t/add_columns'
const create = '/v1/function/sandbox$f/create'

/** As LanceDB's client sends it. */
const bound = (reference: unknown, more: object = {}) => ({
  new_columns: [{ name: 'v', all_null: true }],
  function: { application: { function: reference, inputs: [], output: { kind: 'scalar' }, ...more } },
})
const embed = { name: 'embed', namespace_path: ['lib'], version: 'v1', manifest_digest: 'd' }
const own = { ...embed, namespace_path: ['sandbox'], object_id: 'o', location: 's3://b/f' }
const binding = (reference: unknown) => ({
  artifact: {},
  secret_bindings: [{ kind: 'env', variable: 'TOKEN', secret_ref: reference }],
})

it('a function of another namespace requires UseFunction on it', async () => {
  await attacked.expectDenied(
    { as: 'owner', target: add, body: bound(embed) },
    'not allowed UseFunction \\(the function that the body refers to\\) on "lib.embed"',
  )
})

it.each([
  ['no name', bound({ namespace_path: ['sandbox'], object_id: 'o' })],
  ['nothing', { function: {} }],
])('a function that cannot be found, by %s, requires ReadAnyTable at the root', async (_label, body) => {
  await attacked.expectDenied(
    { as: 'owner', target: add, body },
    'not allowed ReadAnyTable \\(.*\\) on the root',
  )
})

it('a function without a namespace is one of the root', async () => {
  await attacked.expectDenied(
    { as: 'owner', target: add, body: bound({ name: 'embed', object_id: 'o', version: 'v1' }) },
    'not allowed UseFunction \\(.*\\) on "embed"',
  )
})

it.each([
  [
    'an altered column',
    '/v1/table/sandbox$t/alter_columns',
    { alterations: [], function: bound(embed).function },
  ],
  ['another spelling', add, { FUNCTION: bound(embed).function }],
  ['another member', add, { new_columns: [{ name: 'a', function: bound(embed).function }] }],
  ['a namespace that is text', add, bound({ name: 'embed', namespace_path: 'sandbox' })],
  ['a name in two spellings', add, bound({ ...own, Name: 'other' })],
  ['two functions', add, bound(own, { Function: embed })],
  ['a list in place of an object', add, { function: [{ application: { function: own } }] }],
])('a function in %s is refused', async (_label, target, body) => {
  await attacked.expectInvalid({ as: 'trusted', target, body }, /has no member|ambiguous|expected a/)
})

it('every secret that a function is bound to requires UseSecret on it', async () => {
  const [mine, other] = [
    { name: 'token', namespace_path: ['sandbox'] },
    { name: 'token', namespace_path: ['lib'] },
  ]
  const bindings = [mine, other].flatMap((reference) => binding(reference).secret_bindings)
  await attacked.expectDenied(
    { as: 'trusted', target: create, body: { artifact: {}, secret_bindings: bindings } },
    'not allowed UseSecret \\(a secret that the body refers to\\) on "lib.token"',
  )
  await attacked.expectForwarded({
    as: 'trusted',
    target: create,
    body: binding({ name: 'embed', namespace_path: ['lib'] }),
  })
  await attacked.expectForwarded({ as: 'trusted', target: create, body: binding(null) })
})

it('a function of the own namespace is allowed, and those named by a rule; both are recorded', async () => {
  await attacked.expectForwarded({ as: 'owner', target: add, body: bound(own) })
  await attacked.expectForwarded({ as: 'trusted', target: add, body: bound(embed) })
  const intents = await attacked.gateway.recorded('intent')
  expect(intents.slice(-2)).toMatchObject([
    { objects: [{ operation: 'UseFunction', id: ['sandbox', 'embed'] }] },
    { objects: [{ operation: 'UseFunction', id: ['lib', 'embed'] }] },
  ])
})

it.each([
  ['a column without a function', add, { new_columns: [{ name: 'b', expression: '1' }], function: null }],
  ['a backfill by a function that is bound', '/v1/table/sandbox$t/backfill_column', { column: 'v' }],
])('%s requires nothing more', async (_label, target, body) => {
  await attacked.expectForwarded({ as: 'owner', target, body })
})
