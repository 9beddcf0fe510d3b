import { expect, it } from 'vitest'
import type { WrittenPolicy, WrittenRule } from '../../policy/policy-builder.ts'
import { useSharedGateway } from '../../gateway/support/running-gateway.ts'
import { policyOf, ruleFor } from '../support/policy-templates.ts'

// The contact in a denial, or that a restriction denies it, would reveal to a caller that guesses names which have policies.
const any = { any: true } as const
const denied = (more: Partial<WrittenRule> = {}) =>
  ruleFor([], ['all'], { effect: 'deny', subjects: any, ...more })
const policies: readonly WrittenPolicy[] = [
  policyOf([], [ruleFor(['al'], ['read'])], { contact: '#platform' }),
  { name: 'merger', namespace: ['merger'], inherit: false, contact: '#project-falcon', rules: [] },
  {
    name: 'open',
    namespace: ['open'],
    contact: '#open',
    restrict: [{ id: 'part', subjects: any, tables: ['orders'], columns: { id: 'number' } }],
    rules: [],
  },
  policyOf(['open'], [denied({ tables: ['layoffs'] })], { name: 'layoffs', contact: '#layoffs' }),
  policyOf(['board'], [denied()], { contact: '#board' }),
  { name: 'hidden', namespace: ['hidden'], onDeny: 404, inherit: false, contact: '#hidden', rules: [] },
]
const shared = useSharedGateway({
  users: ['al', 'eve'],
  policies,
  settings: { identity: { anonymous: true } },
})

async function readError(target: string, as: string | null): Promise<{ status: number; detail: unknown }> {
  const { status, json } = await shared.gateway.post(target, { as })
  return { status, detail: (json as { detail?: unknown }).detail }
}

const platform = { status: 403, detail: 'authenticated as al; contact for access: #platform' }

it.each([
  ['a hidden namespace', '/v1/namespace/merger/drop', '/v1/namespace/guessed/drop'],
  ['a table in a hidden namespace', '/v1/table/merger$deal/describe', '/v1/table/guessed$deal/drop'],
  ['a namespace that a rule denies', '/v1/namespace/board/describe', '/v1/namespace/guessed/drop'],
])('%s has the contact of a name without a policy', async (_what, target, guess) => {
  expect(await readError(target, 'al')).toEqual(platform)
  expect(await readError(guess, 'al')).toEqual(platform)
})

it('a caller that may see nothing gets the contact of the root alone', async () => {
  for (const target of [
    '/v1/namespace/merger/describe',
    '/v1/table/open$orders/describe',
    '/v1/table/open$orders/drop',
    '/v1/table/x$y/drop',
  ])
    expect(await readError(target, 'eve')).toEqual({
      status: 403,
      detail: 'authenticated as eve; contact for access: #platform',
    })
})

it('a concealed denial and one without a credential have no detail', async () => {
  expect(await readError('/v1/table/hidden$orders/describe', 'al')).toEqual({
    status: 404,
    detail: undefined,
  })
  expect(await readError('/v1/table/open$orders/drop', null)).toEqual({ status: 401, detail: undefined })
})
