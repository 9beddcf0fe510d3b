import { deepEqual, equal, match, ok as assert } from 'node:assert/strict'
import { columnsOf, idsOf, otherRows, rows } from '../sample-rows.ts'
import { cases, type World } from '../world.ts'

async function idsIn(world: World, id: readonly string[], query: object = {}): Promise<number[]> {
  const { status, json, bytes } = await world.call('QueryTable', id, {
    body: { k: 100, vector: null, ...query },
  })
  equal(status, 200, JSON.stringify(json))
  return idsOf(bytes)
}

const ask = (query: object) => ({ body: { k: 1, vector: null, ...query } })
const everyRow = [0, 1, 2]

/** The operations on rows (interface sections 2.5, 8 and 9). */
export const rowCases = cases({
  InsertIntoTable: {
    'rows are appended, or replace those that are there': async (world) => {
      const id = await world.table(3)
      const modes = { append: 4, Append: 5, '"Append"': 6, OVERWRITE: 1 }
      for (const [mode, expected] of Object.entries(modes)) {
        const response = await world.ok('InsertIntoTable', id, { body: rows(1), query: { mode } })
        equal(response['num_inserted_rows'], 1)
        equal((await idsIn(world, id)).length, expected)
      }
      await world.refused('InsertIntoTable', id, { body: rows(1), query: { mode: 'upsert' } }, 'InvalidInput')
    },
    'rows that do not fit, and what is no Arrow stream, are refused': async ({ refused, standing }) => {
      await refused('InsertIntoTable', standing, { body: otherRows() }, 'TableSchemaValidationError')
      for (const body of [new Uint8Array(), new TextEncoder().encode('no Arrow')]) {
        await refused('InsertIntoTable', standing, { body }, 'InvalidInput')
      }
    },
    'a branch that is not there is refused': ({ refused, standing }) =>
      refused(
        'InsertIntoTable',
        standing,
        { body: rows(1), query: { branch: 'absent' } },
        'TableBranchNotFound',
      ),
  },
  MergeInsertIntoTable: {
    'rows that match are updated, the others inserted': async (world) => {
      const id = await world.table(3)
      const response = await world.ok('MergeInsertIntoTable', id, {
        body: rows(3, 2),
        query: { on: 'id', when_matched_update_all: 'true', when_not_matched_insert_all: 'true' },
      })
      deepEqual(
        [response['num_updated_rows'], response['num_inserted_rows'], response['num_deleted_rows']],
        [1, 2, 0],
      )
      deepEqual(
        (await idsIn(world, id)).toSorted((one, other) => one - other),
        [0, 1, 2, 3, 4],
      )
    },
    'rows that match nothing in the source are deleted where told': async (world) => {
      const id = await world.table(3)
      await world.ok('MergeInsertIntoTable', id, {
        body: rows(1, 2),
        query: {
          on: 'id',
          when_matched_update_all: 'true',
          when_not_matched_by_source_delete: 'true',
          when_not_matched_by_source_delete_filt: 'id = 0',
        },
      })
      deepEqual(
        (await idsIn(world, id)).toSorted((one, other) => one - other),
        [1, 2],
      )
    },
    'several columns together tell what matches': async (world) => {
      const id = await world.table(3)
      const query = { on: ['id', 'name'], when_not_matched_insert_all: 'true', timeout: '30s' }
      await world.ok('MergeInsertIntoTable', id, { body: rows(4), query })
      deepEqual(
        (await idsIn(world, id)).toSorted((one, other) => one - other),
        [0, 1, 2, 3],
      )
    },
    'what it must be told is demanded': async ({ refused, standing }) => {
      await refused('MergeInsertIntoTable', standing, { body: rows(1) }, 'InvalidInput')
      const query = { on: 'id', when_matched_update_all: 'perhaps' }
      await refused('MergeInsertIntoTable', standing, { body: rows(1), query }, 'InvalidInput')
    },
    'an unknown column is refused': ({ refused, standing }) =>
      refused(
        'MergeInsertIntoTable',
        standing,
        { body: rows(1), query: { on: 'nothing', when_not_matched_insert_all: 'true' } },
        'TableColumnNotFound',
        'InvalidInput',
      ),
  },
  UpdateTable: {
    'rows that match are updated, all of them without a predicate': async (world) => {
      const id = await world.table(3)
      const updates = [['id', 'id + 10']]
      const some = await world.ok('UpdateTable', id, { body: { predicate: 'id > 0', updates } })
      deepEqual([some['updated_rows'], some['version']], [2, 2])
      for (const predicate of [undefined, null]) {
        equal((await world.ok('UpdateTable', id, { body: { predicate, updates } }))['updated_rows'], 3)
      }
      deepEqual(
        (await idsIn(world, id)).toSorted((one, other) => one - other),
        [20, 31, 32],
      )
    },
    'updates that cannot be made are refused': async ({ refused, standing }) => {
      const wrong = [
        [
          ['id', '1'],
          ['id', '2'],
        ],
        [['id']],
        [['id', '1', '2']],
        [],
        [['id', 'not SQL (']],
      ]
      for (const updates of wrong) {
        await refused('UpdateTable', standing, { body: { updates } }, 'InvalidInput')
      }
      const body = { updates: [['nothing', '1']] }
      await refused('UpdateTable', standing, { body }, 'TableColumnNotFound', 'InvalidInput')
    },
  },
  DeleteFromTable: {
    'rows that match are gone': async (world) => {
      const id = await world.table(3)
      equal((await world.ok('DeleteFromTable', id, { body: { predicate: 'id = 1' } }))['version'], 2)
      deepEqual(await idsIn(world, id), [0, 2])
      deepEqual(await idsIn(world, id, { version: 1 }), everyRow)
    },
    'a predicate that is blank or no SQL is refused': async ({ refused, standing }) => {
      for (const predicate of ['', '  ', 'id >> >']) {
        await refused('DeleteFromTable', standing, { body: { predicate } }, 'InvalidInput')
      }
    },
  },
  QueryTable: {
    'the answer is an Arrow file': async (world) => {
      deepEqual(await idsIn(world, world.standing), everyRow)
      const { bytes } = await world.call('QueryTable', world.standing, { body: { k: 10 } })
      equal(Buffer.from(bytes.subarray(-6)).toString(), 'ARROW1')
    },
    'k, offset, filter and order': async (world) => {
      const { standing } = world
      deepEqual(await idsIn(world, standing, { k: 2 }), [0, 1])
      deepEqual(await idsIn(world, standing, { k: 2, offset: 1 }), [1, 2])
      deepEqual(await idsIn(world, standing, { filter: "name = 'name 1'" }), [1])
      const order_by = [{ column_name: 'id', ascending: false }]
      deepEqual(await idsIn(world, standing, { order_by }), [2, 1, 0])
      const unlimited = '{"k":9223372036854775807,"vector":[],"filter":null}'
      const { bytes } = await world.call('QueryTable', standing, { body: unlimited })
      deepEqual(idsOf(bytes), everyRow)
    },
    'columns by name or by alias, in every form': async ({ call, standing }) => {
      const forms: [unknown, string[]][] = [
        [{ column_names: ['name'] }, ['name']],
        [{ column_aliases: { renamed: 'name' } }, ['renamed']],
        [
          ['name', 'id'],
          ['name', 'id'],
        ],
        [null, ['id', 'name', 'embedding']],
      ]
      for (const [columns, expected] of forms) {
        const { bytes } = await call('QueryTable', standing, { body: { k: 1, vector: null, columns } })
        deepEqual(columnsOf(bytes), expected)
      }
    },
    'the nearest vectors come first, in every form of the vector': async ({ call, standing }) => {
      for (const vector of [{ single_vector: [2, 1] }, [2, 1]]) {
        const { bytes } = await call('QueryTable', standing, {
          body: { k: 2, vector, vector_column: 'embedding' },
        })
        deepEqual(idsOf(bytes), [2, 1])
        assert(columnsOf(bytes).includes('_distance'))
      }
    },
    'the numbers of the rows when asked for': async ({ call, standing }) => {
      const { bytes } = await call('QueryTable', standing, {
        body: { k: 1, vector: null, with_row_id: true },
      })
      assert(columnsOf(bytes).includes('_rowid'))
    },
    'what cannot be asked is refused': async ({ refused, standing }) => {
      for (const query of [{ filter: 'id >> >' }, { k: -1 }, { k: 'many' }, { vector: 'near' }]) {
        await refused('QueryTable', standing, ask(query), 'InvalidInput')
      }
      await refused(
        'QueryTable',
        standing,
        ask({ filter: 'nothing > 1' }),
        'TableColumnNotFound',
        'InvalidInput',
      )
      await refused('QueryTable', standing, ask({ version: 99 }), 'TableVersionNotFound')
      await refused('QueryTable', standing, ask({ branch: 'absent' }), 'TableBranchNotFound')
    },
  },
  CountTableRows: {
    'the answer is the number alone': async ({ call, standing }) => {
      for (const [predicate, expected] of [
        [undefined, 3],
        [null, 3],
        ['id > 0', 2],
      ]) {
        const { json, bytes } = await call('CountTableRows', standing, { body: { predicate, version: null } })
        deepEqual([json, Buffer.from(bytes).toString()], [expected, String(expected)])
      }
      equal((await call('CountTableRows', standing, { method: 'GET' })).json, 3)
    },
    'what cannot be counted is refused': async ({ refused, standing }) => {
      await refused('CountTableRows', standing, { body: { predicate: 'id >> >' } }, 'InvalidInput')
      await refused('CountTableRows', standing, { body: { version: 99 } }, 'TableVersionNotFound')
      await refused('CountTableRows', standing, { body: { branch: 'absent' } }, 'TableBranchNotFound')
    },
  },
  ExplainTableQueryPlan: {
    'the answer is a JSON string that shows no path': async ({ call, ok, standing }) => {
      const { location } = await ok('DescribeTable', standing)
      const query = { k: 5, vector: { single_vector: [1, 1] }, filter: 'id > 0' }
      const { json } = await call('ExplainTableQueryPlan', standing, { body: { query, verbose: true } })
      match(String(json), /Lance/)
      equal(typeof json, 'string')
      equal(String(json).includes(String(location).replace(/^file:\/+/, '')), false)
    },
    'a query that cannot be asked is refused': async ({ refused, standing }) => {
      const query = { k: 1, vector: null, filter: 'id >> >' }
      await refused('ExplainTableQueryPlan', standing, { body: { query } }, 'InvalidInput')
      const other = { k: 1, vector: null, id: ['other'] }
      await refused('ExplainTableQueryPlan', standing, { body: { query: other } }, 'InvalidInput')
    },
  },
  AnalyzeTableQueryPlan: {
    'the answer is a JSON string with what was measured': async ({ call, standing }) => {
      const { json } = await call('AnalyzeTableQueryPlan', standing, {
        body: { k: 5, vector: null, filter: 'id > 0' },
      })
      match(String(json), /output_rows|metrics/)
    },
    'a query that cannot be asked is refused': ({ refused, standing }) =>
      refused(
        'AnalyzeTableQueryPlan',
        standing,
        { body: { k: 1, vector: null, filter: 'id >> >' } },
        'InvalidInput',
      ),
  },
})
