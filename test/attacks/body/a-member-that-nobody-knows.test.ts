import { expect, it } from 'vitest'
import { countRefusals } from '../../gateway/support/count-refusals.ts'
import { withUpstream } from '../../gateway/support/open-gateway.ts'
import { startGatewayAndUpstream } from '../../gateway/support/running-gateway.ts'
import { attackedGateway } from '../support/attacked-gateway.ts'

// An upstream may know members that the gateway does not know: another object, a mode, a credential. No policy sees
// them, so they are refused, even from a caller that may do everything.
const setup = withUpstream(() => ({
  allowedMembers: { AlterTableAddColumns: ['comment', 'new_columns.comment'], DeleteFromTable: ['note'] },
}))
const attacked = attackedGateway(setup)
const as = 'dev'
const table = '/v1/table/sandbox$orders'
const columns = `${table}/add_columns`

async function expectRefused(
  reason: string,
  target: string,
  body: object | string,
  says: string | RegExp,
): Promise<void> {
  const before = await countRefusals(attacked.gateway, reason)
  await attacked.expectInvalid({ as, target, body }, says)
  expect(await countRefusals(attacked.gateway, reason)).toBe(before + 1)
}

const entry = { id: ['sandbox', 'orders'], version: 2, manifest_path: 't/_versions/s' }

// Every object of the body of every operation, with other spellings and other kinds of values, is in
// gateway/body/members-of-every-operation.test.ts.
it.each<[label: string, target: string, body: object, path: string]>([
  ['that is null', `${table}/describe`, { unheard_of: null }, 'unheard_of'],
  ['that every object of JavaScript has', `${table}/describe`, { toString: 1 }, 'toString'],
  [
    'in the second object of a list',
    columns,
    { new_columns: [{ name: 'a' }, { name: 'b', note: 1 }] },
    'new_columns.note',
  ],
  [
    'in an entry of a batch',
    '/v1/table/version/batch-create',
    { entries: [{ ...entry, overwrite: true }] },
    'entries.overwrite',
  ],
])('an unknown member %s is refused', async (_label, target, body, path) => {
  await expectRefused('unknown_member', target, body, `has no member ${JSON.stringify(path)} in its body`)
})

it('a member that the settings allow passes unchanged, at the top and in a list', async () => {
  const body =
    '{"new_columns":[{"name":"a","comment":"x"},{"name":"b","comment":null}],"comment":{"by":["ann",{"n":1.0}]}}'
  const arrival = await attacked.expectForwarded({ as, target: columns, body })
  expect(String(await arrival.body)).toBe(body)
})

it.each<[label: string, target: string, body: object, reason: string]>([
  ['of another operation', `${table}/alter_columns`, { alterations: [], comment: 'x' }, 'unknown_member'],
  ['of another object', columns, { new_columns: [], function: { comment: 'x' } }, 'unknown_member'],
  ['of a deeper object', columns, { new_columns: [{ virtual_column: { comment: 'x' } }] }, 'unknown_member'],
  ['in another spelling', columns, { new_columns: [], Comment: 'x' }, 'ambiguous_member'],
  ['in another spelling in a list', columns, { new_columns: [{ Comment: 'x' }] }, 'ambiguous_member'],
])('an allowed member %s is refused', async (_label, target, body, reason) => {
  await expectRefused(reason, target, body, /omment"/)
})

it.each<[path: string, body: object]>([
  ['comment.branch', { comment: { branch: 'x' } }],
  ['comment.Branch', { comment: { Branch: 'x' } }],
  ['comment.id', { comment: [[{ id: ['production', 'orders'] }]] }],
  ['comment.a.new-namespace-id', { comment: { a: { 'new-namespace-id': ['production'] } } }],
  ['comment.accessToken', { comment: { accessToken: 'x' } }],
  ['new_columns.comment.location', { new_columns: [{ name: 'a', comment: { location: 's3://x' } }] }],
])('the reserved name %s within an allowed value is refused', async (path, body) => {
  const says = `${JSON.stringify(path)} in the body has the name`
  await expectRefused('unknown_member', columns, body, says)
})

it('the audit record of the change contains the paths of allowed members, never their values', async () => {
  const { gateway } = await startGatewayAndUpstream(setup)
  const comment = 'never recorded'
  const newColumns = ['a', 'b'].map((name) => ({ name, expression: '1', comment }))
  for (const body of [{ new_columns: newColumns, comment }, { new_columns: [{ name: 'a' }] }])
    expect((await gateway.post(columns, { body })).status).toBe(200)
  await gateway.stop()
  const [one, other] = await gateway.recorded('intent')
  expect(one?.details).toMatchObject({ members: ['new_columns.comment', 'comment'] })
  expect(JSON.stringify(one)).not.toContain(comment)
  expect(other?.details).not.toHaveProperty('members')
})
