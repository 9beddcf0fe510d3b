import { deepEqual, equal, ok as assert } from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { cases, type World } from '../world.ts'

interface Index {
  readonly index_name: string
  readonly columns: readonly string[]
}

const index = (column: string, index_type: string) => ({ body: { column, index_type } })

const attempts = 100
const pauseMs = 100

/** Creates a table with the index `by_id` and waits until it is built: the interface lets a catalog build it later. */
async function indexed(world: World): Promise<readonly string[]> {
  const id = await world.table(3)
  const body = { column: 'id', index_type: 'BTREE', name: 'by_id' }
  await world.ok('CreateTableIndex', id, { body })
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    if ((await indexesOf(world, id)).length > 0) return id
    await setTimeout(pauseMs)
  }
  throw new Error('the index was not built in time')
}

async function indexesOf({ ok }: World, id: readonly string[], parts = {}): Promise<Index[]> {
  return (await ok('ListTableIndices', id, { body: {}, ...parts }))['indexes'] as Index[]
}

/** The operations on indexes (interface section 2.7). */
export const indexCases = cases({
  CreateTableIndex: {
    'it is listed with its column': async (world) => {
      const [index] = await indexesOf(world, await indexed(world))
      deepEqual([index?.index_name, index?.columns], ['by_id', ['id']])
    },
    'a name that is taken by an index of another column is refused': async (world) => {
      const id = await indexed(world)
      const body = { column: 'name', index_type: 'BTREE', name: 'by_id' }
      await world.refused('CreateTableIndex', id, { body }, 'TableIndexAlreadyExists')
    },
    'unknown types and columns are refused': async ({ refused, standing }) => {
      await refused('CreateTableIndex', standing, index('id', 'MAGIC'), 'InvalidInput')
      await refused(
        'CreateTableIndex',
        standing,
        index('nothing', 'BTREE'),
        'TableColumnNotFound',
        'InvalidInput',
      )
    },
  },
  CreateTableScalarIndex: {
    'scalar types only': async ({ ok, refused, table }) => {
      const id = await table(3)
      for (const index_type of ['btree', 'SCALAR', 'bitmap']) {
        await ok('CreateTableScalarIndex', id, { body: { column: 'id', index_type, name: index_type } })
      }
      const body = { column: 'embedding', index_type: 'IVF_PQ' }
      await refused('CreateTableScalarIndex', id, { body }, 'InvalidInput')
    },
  },
  ListTableIndices: {
    'none where there is none, by POST and GET': async (world) => {
      deepEqual(await indexesOf(world, world.standing), [])
      deepEqual(await indexesOf(world, world.standing, { method: 'GET', body: undefined }), [])
    },
    'the page is asked for in the body': async (world) => {
      const id = await indexed(world)
      equal((await indexesOf(world, id, { body: { limit: 1, page_token: null } })).length, 1)
      equal((await indexesOf(world, id, { body: { page_token: 'by_id' } })).length, 0)
    },
  },
  DescribeTableIndexStats: {
    'rows are counted, by POST and GET': async (world) => {
      const id = await indexed(world)
      const parts = { indexName: 'by_id' }
      for (const more of [{ body: { index_name: 'by_id' } }, { method: 'GET' }]) {
        const stats = await world.ok('DescribeTableIndexStats', id, { ...parts, ...more })
        equal(Number(stats['num_indexed_rows']) + Number(stats['num_unindexed_rows']), 3)
        assert(stats['index_type'] !== undefined)
      }
    },
    'one that is not there is refused': ({ refused, standing }) =>
      refused('DescribeTableIndexStats', standing, { indexName: 'absent' }, 'TableIndexNotFound'),
  },
  DropTableIndex: {
    'it is gone afterwards': async (world) => {
      const id = await indexed(world)
      const parts = { indexName: 'by_id' }
      await world.ok('DropTableIndex', id, { ...parts, body: { id, index_name: 'by_id' } })
      deepEqual(await indexesOf(world, id), [])
      await world.refused('DropTableIndex', id, parts, 'TableIndexNotFound')
    },
  },
})
