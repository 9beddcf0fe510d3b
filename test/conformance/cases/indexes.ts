import { deepEqual, equal, ok as assert } from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { cases, type Fixture } from '../fixture.ts'

interface Index {
  readonly index_name: string
  readonly columns: readonly string[]
}

const index = (column: string, index_type: string) => ({ body: { column, index_type } })

const attempts = 100
const pauseMs = 100

/** Creates a table with the index `by_id` and waits until it is built: the interface lets a catalog build it later. */
async function indexed(fixture: Fixture): Promise<readonly string[]> {
  const id = await fixture.table(3)
  const body = { column: 'id', index_type: 'BTREE', name: 'by_id' }
  await fixture.ok('CreateTableIndex', id, { body })
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    if ((await indexesOf(fixture, id)).length > 0) return id
    await setTimeout(pauseMs)
  }
  throw new Error('the index was not built in time')
}

async function indexesOf({ ok }: Fixture, id: readonly string[], parts = {}): Promise<Index[]> {
  return (await ok('ListTableIndices', id, { body: {}, ...parts }))['indexes'] as Index[]
}

export const indexCases = cases({
  CreateTableIndex: {
    'lists the index with its column': async (fixture) => {
      const [index] = await indexesOf(fixture, await indexed(fixture))
      deepEqual([index?.index_name, index?.columns], ['by_id', ['id']])
    },
    'rejects the name of an index of another column': async (fixture) => {
      const id = await indexed(fixture)
      const body = { column: 'name', index_type: 'BTREE', name: 'by_id' }
      await fixture.rejects('CreateTableIndex', id, body, 'TableIndexAlreadyExists')
    },
    'rejects unknown types and columns': async ({ expectError, sampleTable }) => {
      await expectError('CreateTableIndex', sampleTable, index('id', 'MAGIC'), 'InvalidInput')
      const absent = index('nothing', 'BTREE')
      await expectError('CreateTableIndex', sampleTable, absent, 'TableColumnNotFound', 'InvalidInput')
    },
  },
  CreateTableScalarIndex: {
    'accepts scalar types only': async ({ ok, rejects, table }) => {
      const id = await table(3)
      for (const index_type of ['btree', 'SCALAR', 'bitmap']) {
        await ok('CreateTableScalarIndex', id, { body: { column: 'id', index_type, name: index_type } })
      }
      const body = { column: 'embedding', index_type: 'IVF_PQ' }
      await rejects('CreateTableScalarIndex', id, body, 'InvalidInput')
    },
  },
  ListTableIndices: {
    'returns an empty list without indexes, with POST and GET': async (fixture) => {
      deepEqual(await indexesOf(fixture, fixture.sampleTable), [])
      deepEqual(await indexesOf(fixture, fixture.sampleTable, { method: 'GET', body: undefined }), [])
    },
    'accepts paging parameters in the body': async (fixture) => {
      const id = await indexed(fixture)
      equal((await indexesOf(fixture, id, { body: { limit: 1, page_token: null } })).length, 1)
      equal((await indexesOf(fixture, id, { body: { page_token: 'by_id' } })).length, 0)
    },
  },
  DescribeTableIndexStats: {
    'counts rows, with POST and GET': async (fixture) => {
      const id = await indexed(fixture)
      const parts = { indexName: 'by_id' }
      for (const more of [{ body: { index_name: 'by_id' } }, { method: 'GET' }]) {
        const stats = await fixture.ok('DescribeTableIndexStats', id, { ...parts, ...more })
        equal(Number(stats['num_indexed_rows']) + Number(stats['num_unindexed_rows']), 3)
        assert(stats['index_type'] !== undefined)
      }
    },
    'rejects a missing index': ({ expectError, sampleTable }) =>
      expectError('DescribeTableIndexStats', sampleTable, { indexName: 'absent' }, 'TableIndexNotFound'),
  },
  PrewarmTableIndex: {
    'accepts an index, and rejects a missing one': async (fixture) => {
      const id = await indexed(fixture)
      await fixture.ok('PrewarmTableIndex', id, { indexName: 'by_id' })
      await fixture.expectError('PrewarmTableIndex', id, { indexName: 'absent' }, 'TableIndexNotFound')
    },
  },
  PrewarmTableData: {
    'accepts columns, or none for all of them': async ({ ok, sampleTable }) => {
      for (const body of [undefined, {}, { columns: [] }, { columns: ['id'] }])
        await ok('PrewarmTableData', sampleTable, { body })
    },
  },
  DropTableIndex: {
    'drops the index': async (fixture) => {
      const id = await indexed(fixture)
      const parts = { indexName: 'by_id' }
      await fixture.ok('DropTableIndex', id, { ...parts, body: { id, index_name: 'by_id' } })
      deepEqual(await indexesOf(fixture, id), [])
      await fixture.expectError('DropTableIndex', id, parts, 'TableIndexNotFound')
    },
  },
})
