import { expect, it } from 'vitest'
import { withExtraOperations } from '../../gateway/support/extra-operations.ts'
import { attackedGateway } from '../support/attacked-gateway.ts'

// Some servers prefer the id in the body to that of the route.
const attacked = attackedGateway(withExtraOperations)
const target = '/v1/table/sandbox$orders/mirror'

it.each([
  [['production', 'orders']],
  [['sandbox', 'Orders']],
  [['sandbox']],
  ['sandbox$orders'],
  [{ id: 'x' }],
])('the id %j in the body is refused', async (id) => {
  await attacked.expectRefused({ as: 'dev', target, body: { id } }, { kind: 'InvalidInput', says: '"id"' })
})

async function forwarded(body: object): Promise<string> {
  return String(await (await attacked.expectForwarded({ as: 'dev', target, body })).body)
}

it('an empty id is cut, and an equal one is forwarded', async () => {
  for (const id of [[], null])
    expect(JSON.parse(await forwarded({ id, note: 'x' }))).toMatchObject({ note: 'x' })
  expect(await forwarded({ id: [], note: 'x' })).toBe('{"note":"x"}')
  expect(await forwarded({ id: ['sandbox', 'orders'] })).toBe('{"id":["sandbox","orders"]}')
})

it('the last part of a large body is checked, too', async () => {
  const body = `{"pad":"${'x'.repeat(2 * 1024 * 1024)}","id":["production","orders"]}`
  const response = await attacked.send({ as: 'dev', target, body })
  expect([400, undefined]).toContain(response?.status)
  for (const arrival of attacked.upstream.requests.splice(0)) await expect(arrival.body).rejects.toThrow()
})
