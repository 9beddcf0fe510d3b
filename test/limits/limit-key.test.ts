import { expect, it } from 'vitest'
import { getOperation, type OperationName } from '../../src/catalog-api/operations.ts'
import { createExtraOperations } from '../../src/catalog-api/extra-operation.ts'
import { extraOperations } from '../gateway/support/extra-operations.ts'
import { createLimitKeyFunction, type LimitedRequest } from '../../src/limits/limits.ts'

function createRequest(operation: OperationName, id: readonly string[], name = 'alice'): LimitedRequest {
  return {
    principal: { name, method: name === 'nobody' ? 'anonymous' : 'api-key' },
    route: { operation: getOperation(operation), id },
    head: { client: '192.0.2.7' },
  }
}

const all = { name: 'limit', operations: ['all'] }

it.each([
  ['principal', 'alice'],
  ['namespace', 'sales'],
  ['address', '192.0.2.7'],
  ['all', ''],
] as const)('a limit per %s is shared by requests with the same key', (per, key) => {
  expect(
    createLimitKeyFunction({ ...all, per })(createRequest('QueryTable', ['sales', 'eu', 'orders'])),
  ).toBe(key)
})

it('a transaction counts for the namespace of its table', () => {
  const keyOf = createLimitKeyFunction({ ...all, per: 'namespace' })
  expect(keyOf(createRequest('DescribeTransaction', ['sales', 'orders', '1']))).toBe('sales')
  expect(keyOf(createRequest('DescribeTransaction', ['orders', '1']))).toBe('')
})

it('a request without credentials has a different key than any principal', () => {
  const keyOf = createLimitKeyFunction({ ...all, per: 'principal' })
  expect(keyOf(createRequest('QueryTable', ['t'], 'nobody'))).toBe('')
  expect(keyOf(createRequest('QueryTable', ['t'], 'anonymous'))).toBe('anonymous')
})

it.each([
  [['query'], 'QueryTable', true],
  [['query'], 'DescribeTable', false],
  [['InsertIntoTable', 'drop'], 'DropTable', true],
  [['InsertIntoTable', 'drop'], 'CreateTable', false],
] as const)('a limit of %j: is %s one of them? %s', (operations, operation, isOne) => {
  const keyOf = createLimitKeyFunction({ ...all, per: 'all', operations: [...operations] })
  expect(keyOf(createRequest(operation, ['t']))).toBe(isOne ? '' : undefined)
})

it.each([
  [['all'], 'CompactTable', true],
  [['admin', 'write', 'read'], 'CompactTable', false],
  [['admin'], 'MirrorTable', true],
  [['read'], 'PrewarmTable', true],
] as const)('a limit of %j: is the extra operation %s one of them? %s', (operations, name, isOne) => {
  const operation = createExtraOperations([{ extraOperations }]).find((one) => one.name === name)
  const keyOf = createLimitKeyFunction({ ...all, per: 'all', operations: [...operations] })
  const request = createRequest('QueryTable', ['t'])
  const route = { ...request.route, operation: operation ?? request.route.operation }
  expect(keyOf({ ...request, route })).toBe(isOne ? '' : undefined)
})

it('a limit of some principals does not apply to others', () => {
  const keyOf = createLimitKeyFunction({ ...all, per: 'principal', principals: ['alice', 'bob'] })
  expect(keyOf(createRequest('QueryTable', ['t'], 'bob'))).toBe('bob')
  expect(keyOf(createRequest('QueryTable', ['t'], 'carol'))).toBeUndefined()
})

it.each([
  ['QueryTable', ['sales', 'eu', 'orders'], '["sales","eu"]'],
  ['QueryTable', ['sales', 'us', 'orders'], '["sales"]'],
  ['QueryTable', ['sales', 'eu'], '["sales"]'],
  ['DescribeNamespace', ['sales', 'eu'], '["sales","eu"]'],
  ['QueryTable', ['sales'], undefined],
  ['QueryTable', ['sale', 'orders'], undefined],
  ['BatchCommitTables', [], undefined],
] as const)('of listed namespaces, %s of %j uses the key %s', (operation, id, key) => {
  const keyOf = createLimitKeyFunction({ ...all, per: 'namespace', namespaces: [['sales'], ['sales', 'eu']] })
  expect(keyOf(createRequest(operation, id))).toBe(key)
})

it.each([
  ['QueryTable', ['sales', 'eu', 'orders'], 'sales'],
  ['DescribeNamespace', ['sales'], 'sales'],
  ['QueryTable', ['orders'], ''],
  ['BatchCommitTables', [], ''],
] as const)('without listed namespaces, %s of %j uses the key "%s"', (operation, id, key) => {
  expect(createLimitKeyFunction({ ...all, per: 'namespace' })(createRequest(operation, id))).toBe(key)
})
