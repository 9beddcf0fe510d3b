import { expect, it } from 'vitest'
import type { Principal } from '../../../src/identity/principal.ts'
import { isSameRestriction, readRows } from '../../../src/policy/restrictions/restriction.ts'
import { compilePolicySet, createAuthorizationRequest, createCaller } from '../policy-builder.ts'

const readers = { id: 'read', effect: 'allow', subjects: { any: true }, operations: ['read'] } as const
const restriction = {
  subjects: { groups: ['analysts', 'interns'], except: { users: ['eve'] } },
  tables: ['c*'],
}

/** The restriction of `crm/customers` for a caller, of parts with these columns and rows. */
function find(caller: Principal, ...restrictions: { columns: Record<string, string>; rows?: string }[]) {
  const restrict = restrictions.map((each, index) => ({ id: `r${index}`, ...restriction, ...each }))
  const set = compilePolicySet([{ name: 'crm', namespace: ['crm'], restrict, rules: [readers] }])
  return set.findRestriction(createAuthorizationRequest(caller, 'QueryTable', 'table', ['crm', 'customers']))
}

/** The columns and rows that they leave. */
function remaining(...parameters: Parameters<typeof find>) {
  const found = find(...parameters)
  return found && { columns: [...found.columns], rows: found.rows }
}

const analyst = createCaller('ann', 'analysts')

it.each<[rows: string, claims: Readonly<Record<string, unknown>>, printed: string]>([
  ["region = 'EU'", {}, "(`region` = 'EU')"],
  ["lower(region) like 'e%'", {}, "(lower(`region`) LIKE 'e%')"],
  [
    "array_has(groups, 'a') or array_has(groups, 7)",
    {},
    "(array_has(`groups`, 'a') OR array_has(`groups`, 7))",
  ],
  ['region = 7 and id is null', {}, '((`region` = 7) AND (`id` IS NULL))'],
  ['owner = $principal.name', {}, "(`owner` = 'ann')"],
  ['team in $principal.groups', {}, "(`team` IN ('analysts'))"],
  ['tenant in $principal.claims.tenants', { tenants: ['a', "b'c"] }, "(`tenant` IN ('a', 'b''c'))"],
  ["tenant in ('x', $principal.claims.tenants)", { tenants: ['a'] }, "(`tenant` IN ('x', 'a'))"],
  ['tenant = $principal.claims.tenant', { tenant: 'a' }, "(`tenant` = 'a')"],
  ['tenant in $principal.claims.tenants', { tenants: [] }, 'false'],
  ['tenant in $principal.claims.tenants', {}, 'false'],
  ['not tenant in $principal.claims.tenants', {}, 'false'],
  ['id = 1 or tenant = $principal.claims.tenant', { tenant: 7 }, 'false'],
  ['tenant = $principal.claims.tenant', { tenant: ['a', 'b'] }, 'false'],
  ['tenant in $principal.claims.tenants', { tenants: ['a', 7] }, 'false'],
  ['tenant = $principal.claims.tenant', { tenant: 'a\u202E' }, 'false'],
  ['tenant = $principal.claims.tenant', { tenant: 'a\\' }, 'false'],
  ['tenant = $principal.claims.constructor', {}, 'false'],
])('%s with the claims %o leaves the rows %s', (rows, claims, printed) => {
  expect(remaining({ ...analyst, claims }, { columns: { id: 'number' }, rows })).toEqual({
    columns: [['id', 'number']],
    rows: printed,
  })
})

/** Prints rows for people. */
function print(text: string): string {
  return readRows(text, new Map()).shown
}

it.each([
  'tenant in $principal.claims.tenants',
  "not tenant in ('x', $principal.name) and id between 1 and 2",
  'owner = $principal.name or id is not null',
])('%s is printed for people as they could write it', (rows) => {
  expect(print(print(rows))).toBe(print(rows))
})

it.each([
  ['owner = $principal.name', createCaller('corp\\ann', 'analysts')],
  ['team in $principal.groups', createCaller('ann', 'analysts', 'a\u202E')],
])('%s leaves no row for a text that engines read differently', (rows, caller) => {
  expect(remaining(caller, { columns: { id: 'number' }, rows })?.rows).toBe('false')
})

it('several restrictions leave the columns that all have, and the rows of all', () => {
  const one = { columns: { id: 'number', person: 'other', 'a.b': 'text', x: 'text' }, rows: 'id > 1' }
  const other = { columns: { 'person.city': 'text', a: 'other', id: 'number', x: 'number' }, rows: 'id < 9' }
  expect(remaining(analyst, one, other)).toEqual({
    columns: Object.entries({ id: 'number', x: 'other' }),
    rows: '(`id` > 1) AND (`id` < 9)',
  })
  const ofTenant = { ...other, rows: 'tenant = $principal.claims.tenant' }
  expect(remaining(analyst, one, ofTenant)?.rows).toBe('false')
  expect(remaining(analyst, { columns: one.columns })?.rows).toBeUndefined()
})

const part = { columns: { id: 'number', name: 'text' }, rows: 'id > 1' }

it.each<[what: string, other: Parameters<typeof find>[1], same: boolean]>([
  ['the same columns and rows', part, true],
  ['other rows', { ...part, rows: 'id > 2' }, false],
  ['a column more', { ...part, columns: { ...part.columns, city: 'text' } }, false],
  ['another type of a column', { ...part, columns: { ...part.columns, name: 'other' } }, false],
])('one with %s leaves the same: %o, %s', (_what, other, same) => {
  expect(isSameRestriction(find(analyst, part), find(analyst, other))).toBe(same)
})

it('other callers, exceptions and other tables have no restriction', () => {
  const columns = { id: 'number' }
  const none = find(createCaller('bob'), part)
  expect([isSameRestriction(none, none), isSameRestriction(find(analyst, part), none)]).toEqual([true, false])
  expect(remaining(createCaller('bob'), { columns })).toBeUndefined()
  expect(remaining(createCaller('eve', 'analysts'), { columns })).toBeUndefined()
  const restrict = [{ id: 'r', ...restriction, columns }]
  const set = compilePolicySet([{ name: 'crm', namespace: ['crm'], restrict, rules: [] }])
  for (const id of [['crm', 'orders'], ['crm', 'eu', 'customers'], ['customers']])
    expect(
      set.findRestriction(createAuthorizationRequest(analyst, 'QueryTable', 'table', id)),
    ).toBeUndefined()
})

it('restrictions are combined once, whatever caller and table they apply to', () => {
  const restrict = ['a', 'b'].map((id) => ({ ...restriction, id, columns: { [id]: 'text' } }))
  const set = compilePolicySet([{ name: 'crm', namespace: ['crm'], restrict, rules: [] }])
  const [al, bo] = ['cal', 'cbo'].map((name) => {
    const caller = createCaller(name, 'analysts')
    return set.findRestriction(createAuthorizationRequest(caller, 'QueryTable', 'table', ['crm', name]))
  })
  expect(al?.columns).toEqual(new Map())
  expect(bo?.columns).toBe(al?.columns)
})

it('a table has its own restriction, also by a rule whose columns depend on its tags', () => {
  const tables = {
    a: { columns: { id: 'number', ssn: { type: 'text', tags: ['pii'] } } },
    b: { columns: { email: 'text' } },
    d: { columns: { phone: 'text' } },
  }
  const { subjects } = restriction
  const restrict = [
    { id: 'tagged', subjects, tables: ['a', 'b', 'd'], columns: { without: ['pii'] } },
    { id: 'listed', subjects, tables: ['c'], columns: { x: 'text' } },
  ]
  const set = compilePolicySet([{ name: 'crm', namespace: ['crm'], tags: { tables }, restrict, rules: [] }])
  const columns = ['a', 'b', 'c', 'd', 'a'].map(
    (table) =>
      set.findRestriction(createAuthorizationRequest(analyst, 'QueryTable', 'table', ['crm', table]))
        ?.columns,
  )
  expect(columns.map((each) => [...(each?.keys() ?? [])].join())).toEqual(['id', 'email', 'x', 'phone', 'id'])
})
