import { expect, it } from 'vitest'
import { policyOf, ruleFor } from '../../attacks/support/policy-templates.ts'
import { expectError } from '../support/expect-error.ts'
import { useSharedGateway } from '../support/running-gateway.ts'
import { arrowUpload } from '../../support/arrow-upload.ts'

const policies = [
  policyOf(['public'], [ruleFor([], ['read', 'InsertIntoTable'], { subjects: { anonymous: true } })]),
  policyOf(['told'], []),
]
const closed = useSharedGateway({ policies })
const open = useSharedGateway({
  policies,
  settings: { identity: { anonymous: true } },
})
const nobody = { as: null }
const challenge = { 'www-authenticate': expect.stringContaining('Bearer realm=') }

it('are rejected with a challenge unless the settings allow them, whatever the policies say', async () => {
  const response = await closed.gateway.post('/v1/table/public$rivers/describe', nobody)
  expectError(response, { kind: 'Unauthenticated', says: '^no credential was sent; expected the header' })
  expect(response.headers).toMatchObject(challenge)
  expect(closed.upstream.requests).toEqual([])
})

it('have anonymous permissions and audit records of their own', async () => {
  const response = await open.gateway.post('/v1/table/public$rivers/insert', {
    ...nobody,
    headers: { 'content-type': 'application/vnd.apache.arrow.stream' },
    body: arrowUpload,
  })
  expect(response).toMatchObject({ status: 200 })
  const [arrival] = open.upstream.requests.splice(0)
  expect(arrival?.rawHeaders.join().toLowerCase()).not.toContain('anonymous')
  const intents = await open.gateway.recorded('intent')
  expect(intents).toMatchObject([{ principal: { name: 'anonymous', method: 'anonymous', credentialId: '' } }])
})

it.each([
  ['told'],
  // The response does not depend on whether the object exists.
  ['public$nothing'],
])('get a challenge when they are denied something in %s', async (namespace) => {
  const response = await open.gateway.post(`/v1/table/${namespace}$rivers/drop`, nobody)
  expectError(response, {
    kind: 'Unauthenticated',
    says: 'without a credential you are not allowed DropTable',
  })
  expect(response.headers).toMatchObject(challenge)
})
