import { it } from 'vitest'
import type { ExpectedError } from '../../gateway/support/expect-error.ts'
import { attackedGateway } from '../support/attacked-gateway.ts'

// Proxies and servers behind the gateway resolve `/v1/table/sandbox$x/..` to another path than the routed one.
const attacked = attackedGateway()
const segment: ExpectedError = {
  kind: 'InvalidInput',
  says: 'is a path segment, not a name|which is a path segment',
}
const unknown: ExpectedError = { kind: 'Unsupported', status: 406, says: 'unknown route' }

it.each<[target: string, ExpectedError]>([
  ['/v1/table/../describe', segment],
  ['/v1/table/./describe', segment],
  ['/v1/table/%2e%2e/describe', segment],
  ['/v1/table/.%2E/describe', segment],
  ['/v1/table/sandbox$../describe', segment],
  ['/v1/table/sandbox$%2E%2E$production/describe', segment],
  ['/v1/table/sandbox$x/index/../stats', segment],
  ['/v1/table/sandbox$x/index/%2e/stats', segment],
  ['/v1/table/sandbox$x/../production/drop', unknown],
  ['/v1/table/sandbox$x/describe/..', unknown],
  ['/v1/namespace/../table/production/drop', unknown],
  ['/v1/./table/production/drop', unknown],
  ['/v1//table/production/drop', unknown],
  ['//v1/table/production/drop', { ...unknown, status: 404 }],
  ['/v1/table/sandbox$x//describe', unknown],
  ['/v1/table/sandbox$x/describe//', unknown],
])('%s is rejected', async (target, expected) => {
  await attacked.expectRefused({ target }, expected)
})
