import { expect, it } from 'vitest'
import { arrowUpload } from '../../support/arrow-upload.ts'
import { getOperation, operationNames } from '../../../src/catalog-api/operations.ts'
import { createAcceptedQuery, createMinimalRequest } from '../../gateway/support/minimal-request.ts'
import { ungrouped } from '../../gateway/support/open-gateway.ts'
import { respondWith } from '../../gateway/support/recording-upstream.ts'
import { attackedGateway } from '../support/attacked-gateway.ts'
import { isThorough } from '../../support/thorough.ts'
import { policyOf, ruleFor } from '../support/policy-templates.ts'

// A server may put storage credentials into any response, in its own spelling. Only callers with VendCredentials get
// them, and only from operations that vend them.
const attacked = attackedGateway({
  users: ['caller'],
  policies: [
    policyOf(['sales'], [ruleFor(['caller']), ruleFor(['caller'], ['VendCredentials'], { effect: 'deny' })]),
    policyOf(['lab'], [ruleFor(['caller'])]),
    policyOf([], [ruleFor(['caller'], ['admin', 'VendCredentials', ...ungrouped])]),
  ],
})

const secret = 'S3CR3T'
const options = { aws_region: 'eu', aws_secret_access_key: secret }

/** Every name and spelling is in gateway/upstream/credential-names.test.ts. */
const spellings: readonly (readonly [what: string, members: string])[] = [
  ['as in the interface', `"storage_options":${JSON.stringify(options)},"expires_at_millis":"${secret}"`],
  ['in camel case', `"storageOptions":${JSON.stringify(options)},"expiresAtMillis":"${secret}"`],
  ['escaped', `"\\u0073torage\\u005foptions":${JSON.stringify(options)}`],
  ['bare', `"aws_secret_access_key":"${secret}","aws_session_token":"${secret}"`],
  ['in an object of their own', `"credentials":{"key":"${secret}"}`],
]

const jsonOperations = operationNames.filter((name) => {
  const { response, lists } = getOperation(name)
  return response === 'json' && lists === undefined
})

it.each(jsonOperations)('%s returns no storage credential in any spelling, at any depth', async (name) => {
  const { method, path, members } = createMinimalRequest(name)
  const query = await createAcceptedQuery(name, attacked, 'caller')
  const { status } = getOperation(name)
  const target = query === '' ? path : `${path}?${query}`
  for (const [index, [what, secrets]] of spellings.entries()) {
    const bodies = [
      `{${secrets}}`,
      `{"version":1,"nested":{"list":[{${secrets},"kept":1}]}}`,
      `[{"kept":1},{${secrets}}]`,
    ]
    for (const body of isThorough ? bodies : bodies.slice(index % 3, (index % 3) + 1)) {
      attacked.upstream.handler = respondWith(status, body)
      const response = await attacked.send({
        method,
        target,
        as: 'caller',
        ...(method === 'POST' && { body: members ?? arrowUpload }),
      })
      expect(response?.status, `${what}: ${String(response?.bytes)}`).toBe(status)
      expect(String(response?.bytes), what).not.toContain(secret)
      attacked.upstream.requests.length = 0
    }
  }
})

it('forwards a plain text that only mentions them, such as a query plan', async () => {
  const plan = 'ProjectionExec: storage_options \\ größer'
  attacked.upstream.handler = respondWith(200, JSON.stringify(plan))
  const response = await attacked.send({
    target: '/v1/table/sales$orders/explain_plan',
    as: 'caller',
    body: { query: { k: 1, vector: [] } },
  })
  expect(response?.json).toBe(plan)
})

it('a batch returns none for a table whose namespace denies them', async () => {
  attacked.upstream.handler = respondWith(
    200,
    JSON.stringify({ results: [{ declare_table: { location: 'lake/t', storage_options: options } }] }),
  )
  const send = async (namespace: string) => {
    const response = await attacked.send({
      target: '/v1/table/batch-commit',
      as: 'caller',
      body: { operations: [{ declare_table: { id: [namespace, 't'] } }] },
    })
    expect(response?.status).toBe(200)
    return String(response?.bytes)
  }
  expect(await send('lab')).toContain(secret)
  expect(await send('sales')).not.toContain(secret)
})
