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
      name: 'open',
      namespace: ['open'],
      rules: [
        { id: 'reads', effect: 'allow', subjects: { users: ['ann'] }, operations: ['read'] },
        {
          id: 'not-from-tests',
          effect: 'deny',
          subjects: { users: ['ann'] },
          operations: ['query'],
          when: 'context["env"] == "test"',
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

it('evaluates conditions on headers; a deny whose condition fails denies and is counted', async () => {
  const count = async (headers: Record<string, string>) =>
    (await shared.gateway.post('/v1/table/open$orders/count_rows', { as: 'ann', body: {}, headers })).status
  expect(await count({ 'x-catalog-ctx-env': 'prod' })).toBe(200)
  expect(await count({ 'x-catalog-ctx-env': 'test' })).toBe(403)
  expect(await count({})).toBe(403)
  const metrics = await (await fetch(`${shared.gateway.adminUrl}/metrics`)).text()
  expect(metrics).toMatch(/^catalog_gateway_policy_condition_failures_total\{effect="deny"\} [1-9]/m)
})
