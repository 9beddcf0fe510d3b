import { expect, it } from 'vitest'
import { allowEverything } from '../support/open-gateway.ts'
import { respondWith } from '../support/recording-upstream.ts'
import { useSharedGateway } from '../support/running-gateway.ts'

const shared = useSharedGateway({
  users: ['ann'],
  policies: [
    allowEverything,
    {
      name: 'lake',
      namespace: ['lake'],
      rules: [
        {
          id: 'off-main',
          effect: 'allow',
          subjects: { users: ['ann'] },
          operations: ['browse'],
          when: 'branch != "main"',
        },
      ],
    },
    {
      name: 'labelled',
      namespace: ['labelled'],
      rules: [
        {
          id: 'dev',
          effect: 'allow',
          subjects: { users: ['ann'] },
          operations: ['create', 'UpdateTable'],
          when: 'properties["env"] == "dev"',
        },
      ],
    },
  ],
})

it('a listing shows a table to a caller who may describe another branch than main', async () => {
  shared.upstream.answering = respondWith(200, { tables: ['orders'] })
  const list = await shared.gateway.get('/v1/namespace/lake/table/list', { as: 'ann' })
  expect(list.json).toMatchObject({ tables: ['orders'] })
  shared.upstream.answering = respondWith(200, { tables: ['lake$orders', 'other$orders'] })
  expect((await shared.gateway.get('/v1/table', { as: 'ann' })).json).toMatchObject({
    tables: ['lake$orders'],
  })
  shared.upstream.answering = respondWith(200, {})
  const describe = (body: object) =>
    shared.gateway.post('/v1/table/lake$orders/describe', { as: 'ann', body })
  expect((await describe({ branch: 'ci/x' })).status).toBe(200)
  expect((await describe({})).status).toBe(403)
})

it.each(['/v1/namespace/labelled$n/create', '/v1/table/labelled$t/declare', '/v1/table/labelled$t/update'])(
  '%s takes properties as an object',
  async (target) => {
    const send = (env: string) => shared.gateway.post(target, { as: 'ann', body: { properties: { env } } })
    expect((await send('dev')).status).toBe(200)
    expect((await send('prod')).status).toBe(403)
    expect(shared.upstream.requests).toHaveLength(1)
  },
)
