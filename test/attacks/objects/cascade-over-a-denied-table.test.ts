import { expect, it } from 'vitest'
import { attackedGateway } from '../support/attacked-gateway.ts'

// A namespace that the caller may drop can contain a table that it may not drop.
const attacked = attackedGateway()

it.each(['Cascade', '"cascade"'])('behavior %s requires permission on everything below', async (behavior) => {
  for (const namespace of ['sandbox', 'sandbox$inner']) {
    await attacked.expectDenied(
      { as: 'owner', target: `/v1/namespace/${namespace}/drop`, body: { behavior } },
      /not allowed DropTable \(behavior Cascade\)/,
    )
  }
})

it('overwriting a namespace drops everything below', async () => {
  await attacked.expectDenied(
    { as: 'owner', target: '/v1/namespace/sandbox$inner/create', body: { mode: 'Overwrite' } },
    /not allowed DropTable \(mode Overwrite\)/,
  )
})

it('permission to drop namespaces but no tables does not allow a cascade', async () => {
  await attacked.expectDenied(
    { target: '/v1/namespace/sandbox$other/drop', body: { behavior: 'Cascade' } },
    /not allowed DropTable/,
  )
})

it.each([
  [{ behavior: 'Everything' }, /"Everything" is not a behavior of \w+; expected one of restrict, cascade/],
  [{ mode: 'Cascade' }, /"Cascade" is not a mode of DropNamespace; expected one of fail, skip/],
])('%j is refused', async (body, says) => {
  await attacked.expectInvalid({ as: 'owner', target: '/v1/namespace/sandbox/drop', body }, says)
})

it('allows a cascade if nothing below is denied', async () => {
  const body = { behavior: 'Cascade' }
  const arrival = await attacked.expectForwarded({
    as: 'owner',
    target: '/v1/namespace/sandbox$other/drop',
    body,
  })
  expect(JSON.parse(String(await arrival.body))).toEqual(body)
  await attacked.expectForwarded({
    target: '/v1/namespace/sandbox$inner/drop',
    body: { behavior: 'Restrict' },
  })
})
