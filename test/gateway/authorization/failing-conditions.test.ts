import { request } from 'undici'
import { expect, it } from 'vitest'
import { allowEverything } from '../support/open-gateway.ts'
import { useSharedGateway } from '../support/running-gateway.ts'

const shared = useSharedGateway({
  users: ['ann'],
  policies: [
    allowEverything,
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
  ],
})

const count = (env?: string) =>
  shared.gateway.post('/v1/table/open$orders/count_rows', {
    as: 'ann',
    body: {},
    headers: env === undefined ? {} : { 'x-catalog-ctx-env': env },
  })

it('evaluates conditions on headers; a deny whose condition fails denies and is counted', async () => {
  expect(await count('prod')).toMatchObject({ status: 200 })
  expect(await count('test')).toMatchObject({ status: 403 })
  expect(await count()).toMatchObject({ status: 403 })
  const { body } = await request(`${shared.gateway.adminUrl}/metrics`)
  expect(await body.text()).toMatch(
    /^catalog_gateway_policy_condition_failures_total\{effect="deny"\} [1-9]/m,
  )
})
