import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ofKind, recordsOf } from '../../audit/audit-fixtures.ts'
import { orders, streamOf } from '../../../src/backend/test/engine/sample-tables.ts'
import { runningBackend } from '../../../src/backend/test/support/running-backend.ts'
import type { RequestOptions } from '../support/open-gateway.ts'
import { startGatewayBefore } from '../support/running-gateway.ts'

// Uses the real catalog, which states no version in its responses to these changes.
const table = '/v1/table/t'
const rows = { body: Buffer.from(streamOf(orders(3))) }

async function gatewayAndCatalog() {
  const catalog = await runningBackend()
  const gateway = await startGatewayBefore(catalog.url(), {
    adjust: (settings) => ({ ...settings, audit: { ...settings.audit, continuity: 'warn' } }),
  })
  const { location } = JSON.parse(String((await gateway.post(`${table}/create`, rows)).bytes)) as {
    location: string
  }
  await cp(location, join(catalog.dataFolder, 'tables', 'other.lance'), { recursive: true })
  const change = async (name: string, parts: RequestOptions = rows) =>
    expect(await gateway.post(`${table}/${name}`, parts)).toMatchObject({ status: 200 })
  const pastTheGateway = async () =>
    expect(await catalog.post(`${table}/insert`, streamOf(orders(1)))).toMatchObject({ status: 200 })
  const outcomes = async () => ofKind(await recordsOf(gateway.auditFolder), 'outcome')
  return { change, pastTheGateway, outcomes }
}

const index = { column: 'id', index_type: 'BTREE' }
type Changes = readonly (readonly [name: string, body: object])[]

it.each<[what: string, changes: Changes, newest: number]>([
  ['a restore', [['restore', { version: 1 }]], 3],
  ['the creation of an index', [['create_index', index]], 3],
  ['the creation of a scalar index', [['create_scalar_index', index]], 3],
  [
    'the removal of an index',
    [
      ['create_index', index],
      ['index/id_idx/drop', {}],
    ],
    4,
  ],
  ['a change of the metadata', [['schema_metadata/update', { owner: 'ann' }]], 3],
  ['the registration of another dataset', [['register', { location: 'other.lance', mode: 'Overwrite' }]], 1],
])('flags only the commit right after %s', async (_what, changes, newest) => {
  const { change, pastTheGateway, outcomes } = await gatewayAndCatalog()
  await change('insert')
  for (const [name, body] of changes) await change(name, { body })
  expect((await outcomes()).at(-1)).toMatchObject({ version: newest, versions: [{ observed: true }] })
  await pastTheGateway()
  await change('insert')
  const past = newest + 1
  const all = await outcomes()
  expect(all.at(-1)).toMatchObject({ version: past + 1, outOfBand: [{ id: ['t'], from: past, to: past }] })
  expect(all.filter(({ outOfBand }) => outOfBand !== undefined)).toHaveLength(1)
})

const create = ['branches/create', { name: 'dev' }] as const

it.each<[what: string, changes: Changes]>([
  ['created', [create]],
  ['deleted', [create, ['branches/delete', { name: 'dev' }]]],
])('flags a commit to main, though a branch is %s before the next one', async (_what, changes) => {
  const { change, pastTheGateway, outcomes } = await gatewayAndCatalog()
  await change('insert')
  await pastTheGateway()
  for (const [name, body] of changes) await change(name, { body })
  await change('insert')
  expect((await outcomes()).at(-1)).toMatchObject({ version: 4, outOfBand: [{ id: ['t'], from: 3, to: 3 }] })
})

it('does not flag the first commits to a branch that replaces another one of its name', async () => {
  const { change, outcomes } = await gatewayAndCatalog()
  const body = { name: 'dev' }
  await change('branches/create', { body })
  await change('insert?branch=dev')
  await change('branches/delete', { body })
  for (let round = 0; round < 3; round += 1) await change('insert')
  await change('branches/create', { body })
  await change('insert?branch=dev')
  const all = await outcomes()
  expect(all.map(({ version }) => version)).toEqual([1, undefined, 2, undefined, 2, 3, 4, undefined, 5])
  expect(all.filter(({ outOfBand }) => outOfBand !== undefined)).toEqual([])
})

it('does not flag concurrent changes, whether their responses state a version or not', async () => {
  const { change, pastTheGateway, outcomes } = await gatewayAndCatalog()
  for (let round = 0; round < 5; round += 1) {
    await Promise.all([
      change('insert'),
      change('schema_metadata/update', { body: { round: String(round) } }),
      change('insert'),
      change('schema_metadata/update', { body: { other: String(round) } }),
    ])
  }
  await change('insert')
  expect((await outcomes()).filter(({ outOfBand }) => outOfBand !== undefined)).toEqual([])
  await pastTheGateway()
  await change('insert')
  expect((await outcomes()).at(-1)).toMatchObject({ version: 24, outOfBand: [{ from: 23, to: 23 }] })
})
