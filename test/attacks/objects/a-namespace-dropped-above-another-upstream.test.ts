import { expect, it } from 'vitest'
import { expectError } from '../../gateway/support/expect-error.ts'
import { useSharedGatewayAndUpstreams } from '../../gateway/support/running-gateway.ts'
import { arrowUpload } from '../../support/arrow-upload.ts'

// `deep` belongs to the root upstream, and `[deep, er]` to another one. The root upstream sees an empty `deep` and
// would drop it, although another catalog is mounted below.
const shared = useSharedGatewayAndUpstreams({
  root: { namespaces: undefined },
  mounted: { namespaces: [['deep', 'er']] },
})
const countArrivals = () => Object.values(shared.upstreams).map(({ requests }) => requests.length)

const isDropped = { kind: 'NamespaceNotEmpty', says: 'another catalog' } as const
const isReplaced = { kind: 'NamespaceAlreadyExists', says: 'another catalog' } as const
const isHidden = { kind: 'TableAlreadyExists', says: 'another catalog' } as const
const register = { location: 's3://lake/t' }

it.each<
  [
    label: string,
    target: string,
    body: object,
    expected: typeof isDropped | typeof isReplaced | typeof isHidden,
  ]
>([
  ['a drop', '/v1/namespace/deep/drop', { behavior: 'Restrict' }, isDropped],
  ['a drop that says nothing', '/v1/namespace/deep/drop', {}, isDropped],
  ['a cascade', '/v1/namespace/deep/drop', { behavior: 'Cascade' }, isDropped],
  ['a drop that skips', '/v1/namespace/deep/drop', { mode: 'Skip' }, isDropped],
  ['a cascade from the root', '/v1/namespace/$/drop', { behavior: 'Cascade' }, isDropped],
  ['a drop of the very namespace', '/v1/namespace/deep$er/drop', { behavior: 'Cascade' }, isDropped],
  ['a namespace in its place', '/v1/namespace/deep/create', { mode: 'Overwrite' }, isReplaced],
  ['a new root', '/v1/namespace/$/create', { mode: 'overwrite' }, isReplaced],
  ['a table in its place', '/v1/table/deep/declare', {}, isHidden],
  ['a table with the id of the other one', '/v1/table/deep$er/declare', {}, isHidden],
  ['a registered table', '/v1/table/deep/register', register, isHidden],
  ['a view', '/v1/materialized_view/deep/create', {}, isHidden],
  ['a table moved there', '/v1/table/t/rename', { new_table_name: 'deep' }, isHidden],
  [
    'a table of a batch',
    '/v1/table/batch-commit',
    { operations: [{ declare_table: { id: ['t'] } }, { declare_table: { id: ['deep'] } }] },
    isHidden,
  ],
])('%s is refused, and neither sent nor recorded', async (_label, target, body, expected) => {
  const before = (await shared.gateway.recorded('intent')).length
  expectError(await shared.gateway.post(target, { body }), expected)
  expect(countArrivals()).toEqual([0, 0])
  expect(await shared.gateway.recorded('intent')).toHaveLength(before)
})

it('refuses an uploaded table at a mount point, too', async () => {
  const headers = { 'content-type': 'application/vnd.apache.arrow.stream' }
  expectError(await shared.gateway.post('/v1/table/deep/create', { headers, body: arrowUpload }), isHidden)
  expect(countArrivals()).toEqual([0, 0])
})

it.each<[label: string, target: string, body: object, upstream: number]>([
  ['a namespace beside it', '/v1/namespace/deeper/drop', { behavior: 'Cascade' }, 0],
  ['a namespace next to the other one', '/v1/namespace/deep$e/drop', {}, 0],
  ['a namespace in the other one', '/v1/namespace/deep$er$x/drop', {}, 1],
  ['a namespace that stays if it is there', '/v1/namespace/deep/create', { mode: 'ExistOk' }, 0],
  ['the other one, overwritten', '/v1/namespace/deep$er/create', { mode: 'Overwrite' }, 1],
  ['a table in the other one', '/v1/table/deep$er$t/declare', {}, 1],
])('%s is still served', async (_label, target, body, index) => {
  expect(await shared.gateway.post(target, { body })).toMatchObject({ status: 200 })
  expect(countArrivals()).toEqual([index === 0 ? 1 : 0, index])
})
