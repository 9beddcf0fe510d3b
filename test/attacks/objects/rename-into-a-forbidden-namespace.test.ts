import { expect, it } from 'vitest'
import { attackedGateway } from '../support/attacked-gateway.ts'

// Only the body states the destination of a rename.
const attacked = attackedGateway()
const target = '/v1/table/sandbox$orders/rename'
const name = { new_table_name: 'orders' }

it.each([
  ['into another namespace', { ...name, new_namespace_id: ['production'] }, 'production.orders'],
  ['into the root', { ...name, new_namespace_id: [] }, 'orders'],
  [
    'to a name that is denied',
    { new_table_name: 'vault', new_namespace_id: ['sandbox', 'inner'] },
    'sandbox.inner.vault',
  ],
])('denies a rename %s', async (_label, body, destination) => {
  await attacked.expectDenied(
    { target, body },
    `not allowed CreateTable \\(the destination\\) on "${destination}"`,
  )
})

it.each<[label: string, body: object, says: RegExp]>([
  ['two destinations', { ...name, new_namespace_id: ['sandbox'], new_namespace: ['production'] }, /differ/],
  ['no destination', {}, /requires "new_table_name"/],
  ['a name that is a path', { new_table_name: '../production/orders' }, /is not allowed in a name/],
  ['a name with the delimiter', { new_table_name: 'inner$vault' }, /"inner\$vault"/],
])('rejects a rename with %s', async (_label, body, says) => {
  await attacked.expectInvalid({ target, body }, says)
})

it.each(['new_namespace_id', 'new_namespace'])(
  'an empty %s is the root to some catalogs and the own namespace to others: both must be allowed',
  async (member) => {
    const body = { new_table_name: 'vault', [member]: [] }
    await attacked.expectDenied(
      { as: 'dev', target: '/v1/table/sandbox$inner$orders/rename', body },
      'not allowed CreateTable \\(the destination\\) on "sandbox.inner.vault"',
    )
    const sent = await attacked.expectForwarded({ as: 'dev', target, body: { ...name, [member]: [] } })
    expect(JSON.parse(String(await sent.body))).toEqual({ ...name, new_namespace_id: [], new_namespace: [] })
    const intent = (await attacked.gateway.recorded('intent')).at(-1)
    expect(intent?.objects).toMatchObject([
      { operation: 'CreateTable', id: ['orders'] },
      { operation: 'CreateTable', id: ['sandbox', 'orders'] },
    ])
  },
)

/** The same namespace in both spellings of the member. */
const both = (namespace: string[]) => ({ ...name, new_namespace: namespace, new_namespace_id: namespace })

it('forwards and records equal destinations in both spellings as one', async () => {
  const body = both(['sandbox', 'archive'])
  const arrival = await attacked.expectForwarded({ target, body })
  expect(JSON.parse(String(await arrival.body))).toEqual(body)
  const intent = (await attacked.gateway.recorded('intent')).at(-1)
  expect(intent?.details).toEqual({ new_table_name: 'orders', new_namespace_id: ['sandbox', 'archive'] })
  expect(intent?.objects).toMatchObject([{ operation: 'CreateTable', id: ['sandbox', 'archive', 'orders'] }])
  await attacked.expectDenied({ target, body: both(['production']) }, 'on "production\\$orders"')
})

it('rejects a part that contains the delimiter, whatever the permissions', async () => {
  const body = { ...name, new_namespace_id: ['sandbox$inner'] }
  await attacked.expectDenied({ target, body }, 'on \\["sandbox\\$inner", "orders"\\]')
  await attacked.expectInvalid({ target, body, as: 'dev' }, /"sandbox\$inner"/)
})

it('allows a rename within allowed namespaces, which also requires the source', async () => {
  const body = { ...name, new_namespace_id: ['sandbox', 'archive'] }
  expect((await attacked.expectForwarded({ target, body })).target).toBe('/v1/table/sandbox%24orders/rename')
  await attacked.expectDenied(
    { target: '/v1/table/production$orders/rename', body },
    'not allowed RenameTable on "production\\$orders"',
  )
})
