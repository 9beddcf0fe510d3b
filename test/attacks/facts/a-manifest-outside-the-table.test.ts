import { it } from 'vitest'
import { attackedGateway } from '../support/attacked-gateway.ts'

// A commit names its manifest by an object store key; the catalog moves that object.
const attacked = attackedGateway()
const target = '/v1/table/sandbox$orders/version/create'

it.each([
  '../production/orders/_versions/staging',
  'sandbox/orders/_versions/../../../production/_versions/1.manifest',
  'sandbox/./orders/_versions/staging',
  'sandbox//orders/_versions/staging',
  'sandbox\\orders\\_versions\\staging',
  'sandbox/orders/_versions/..',
  'sandbox/orders/_versions/',
  'sandbox/orders/data/0.lance',
  '_versions',
  'staging',
  '',
  'sandbox/orders/_versions/a\u0000b',
  'sandbox/orders/_versions/a\nb',
  's3://bucket/../production/_versions/staging',
  'file:///etc/_versions/../passwd',
])('rejects the path %j', async (path) => {
  await attacked.expectInvalid(
    { target, body: { version: 2, manifest_path: path } },
    '"manifest_path" is .*expected the path of a staging manifest in a folder',
  )
})

it('rejects a commit without a path', async () => {
  await attacked.expectInvalid({ target, body: { version: 2 } }, 'no "manifest_path"')
})

it.each([
  'sandbox/orders.lance/_versions/7.manifest-8a',
  's3://bucket/t.lance/_versions/x',
  '/srv/t/_versions/x',
])('accepts the path %s', async (path) => {
  await attacked.expectForwarded({ target, body: { version: 2, manifest_path: path } })
})
