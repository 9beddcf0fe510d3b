import { expect, it } from 'vitest'
import { attackedGateway } from './attacked-gateway.ts'

// A namespace that one may drop can hold a table that one may not.
const attacked = attackedGateway()

it.each(['Cascade', 'cascade', 'CASCADE', '"Cascade"'])(
  'behavior %s needs everything beneath, also what is denied there',
  async (behavior) => {
    for (const namespace of ['sandbox', 'sandbox$inner']) {
      await attacked.isRefused(
        { as: 'owner', target: `/v1/namespace/${namespace}/drop`, body: { behavior } },
        { kind: 'PermissionDenied', says: /not allowed DropTable \(behavior Cascade\)/ },
      )
    }
  },
)

it('to overwrite a namespace is to drop everything beneath', async () => {
  await attacked.isRefused(
    { as: 'owner', target: '/v1/namespace/sandbox$inner/create', body: { mode: 'Overwrite' } },
    { kind: 'PermissionDenied', says: /not allowed DropTable \(mode Overwrite\)/ },
  )
})

it('who may drop namespaces but no tables cannot cascade', async () => {
  await attacked.isRefused(
    { target: '/v1/namespace/sandbox$other/drop', body: { behavior: 'Cascade' } },
    { kind: 'PermissionDenied', says: /not allowed DropTable/ },
  )
})

it.each([
  [{ behavior: 'Everything' }, /"Everything" is not a behavior of \w+; expected one of restrict, cascade/],
  [{ behavior: ['Cascade'] }, /expected a string/],
  [{ behavior: true }, /expected a string/],
  [{ Behavior: 'Cascade' }, /is ambiguous; write "behavior"/],
  [{ mode: 'Cascade' }, /"Cascade" is not a mode of DropNamespace; expected one of fail, skip/],
])('%j is refused', async (body, says) => {
  await attacked.isRefused(
    { as: 'owner', target: '/v1/namespace/sandbox/drop', body },
    { kind: 'InvalidInput', says },
  )
})

it('what is not denied beneath can be dropped', async () => {
  const body = { behavior: 'Cascade' }
  const arrival = await attacked.passes({ as: 'owner', target: '/v1/namespace/sandbox$other/drop', body })
  expect(JSON.parse(String(await arrival.body))).toEqual(body)
  await attacked.passes({ target: '/v1/namespace/sandbox$inner/drop', body: { behavior: 'Restrict' } })
})
