import { expect, it } from 'vitest'
import { policyRevisionHeader } from '../../../src/catalog-api/headers.ts'
import { loadPolicies } from '../../../src/policy/source/load-policies.ts'
import { useSharedGateway } from '../support/running-gateway.ts'

const shared = useSharedGateway({ users: ['ann'] })

const revision = async (): Promise<string> => (await loadPolicies([shared.gateway.policyFolder])).set.revision

it.each<[what: string, method: 'GET' | 'POST', target: string, status: number, as?: string]>([
  ['a read', 'POST', '/v1/table/t/describe', 200],
  ['a change', 'POST', '/v1/table/t/drop', 200],
  ['a listing', 'GET', '/v1/namespace/$/table/list', 200],
  ['a denial', 'POST', '/v1/table/t/drop', 403, 'ann'],
])('%s names the policies that decided', async (_what, method, target, status, as = 'dev') => {
  shared.upstream.handler = (_arrival, response) => {
    response.setHeader('X-Catalog-Policy-Revision', 'forged')
    response.end('{"tables":[]}')
  }
  const response = await shared.gateway.send(method, target, { as })
  expect(response).toMatchObject({ status, headers: { [policyRevisionHeader]: await revision() } })
})

it('errors of the body or of the upstream name the policies that allowed the request', async () => {
  const expected = { [policyRevisionHeader]: await revision() }
  const body = { headers: { 'content-type': 'application/json' }, body: '{"id":["other"]}' }
  const contradiction = await shared.gateway.post('/v1/table/t/describe', body)
  expect(contradiction).toMatchObject({ status: 400, headers: expected })
  shared.upstream.handler = (_arrival, response) => response.writeHead(409).end()
  expect(await shared.gateway.post('/v1/table/t/drop')).toMatchObject({ status: 409, headers: expected })
  shared.upstream.handler = (_arrival, response) => response.destroy()
  const lost = await shared.gateway.post('/v1/table/t/drop')
  expect(lost.status).toBe(424)
  expect(lost.headers).toMatchObject(expected)
})

it.each<[what: string, target: string, as: string | null, status: number]>([
  ['no route', '/v1/nothing', 'dev', 406],
  ['no credential', '/v1/table/t/describe', null, 401],
  ['a bad credential', '/v1/table/t/describe', 'not-a-key', 401],
])('refusals before authorization name no policies: %s', async (_what, target, as, status) => {
  const response = await shared.gateway.post(target, { as })
  expect(response.status).toBe(status)
  expect(response.headers).not.toHaveProperty(policyRevisionHeader)
})
