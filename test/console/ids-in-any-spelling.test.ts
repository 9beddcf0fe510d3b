import { expect, it } from 'vitest'
import { useSharedGateway } from '../gateway/support/running-gateway.ts'

const suite = useSharedGateway({
  adjust: (settings) => ({ ...settings, admin: { ...settings.admin, console: true } }),
})

async function access(id: string) {
  const query = new URLSearchParams({ id, kind: 'table' })
  const response = await fetch(`${suite.gateway.adminUrl}/console/access?${query.toString()}`)
  return { status: response.status, body: await response.json() }
}

it.for([
  ['lake/orders', 'lake/orders'],
  ['lake$orders', 'lake/orders'],
  ['["lake", "orders"]', 'lake/orders'],
  ['$', '/'],
  ['', '/'],
])('the console reads %s, and says which object it shows', async ([id = '', shown]) => {
  expect(await access(id)).toMatchObject({ status: 200, body: { id: shown } })
})

it('the console refuses an id that could mean two objects', async () => {
  expect(await access('lake/staff$orders')).toEqual({
    status: 400,
    body: { error: expect.stringContaining('has both "/" and "$"') },
  })
})
