import { deepEqual, equal, match, ok as assert } from 'node:assert/strict'
import type { OperationName } from '../../../src/catalog-api/operations.ts'
import { columnsOf, idsOf, otherRows, rows } from '../sample-rows.ts'
import { cases, type Check, type Fixture } from '../fixture.ts'

async function idsIn(fixture: Fixture, id: readonly string[], query: object = {}): Promise<number[]> {
  const { status, json, bytes } = await fixture.call('QueryTable', id, {
    body: { k: 100, vector: null, ...query },
  })
  equal(status, 200, JSON.stringify(json))
  return idsOf(bytes)
}

async function sortedIdsIn(fixture: Fixture, id: readonly string[]): Promise<number[]> {
  return (await idsIn(fixture, id)).toSorted((one, other) => one - other)
}

/** A scan and a search, as clients of the interface and as LanceDB's remote client send them. */
const queryForms = [
  { k: 5, vector: { single_vector: [] }, columns: { column_names: ['id'] } },
  { k: 5, vector: [], columns: ['id'], ef: null },
  { k: 5, vector: { single_vector: [2, 1] }, vector_column: 'embedding' },
  { k: 5, vector: [2, 1], vector_column: 'embedding', columns: { renamed: 'id' } },
]
const acceptsEveryForm =
  (name: OperationName): Check =>
  async ({ call, sampleTable }) => {
    for (const body of queryForms.flatMap((query) => [{ query }, query])) {
      const { status, json } = await call(name, sampleTable, { body })
      deepEqual([status, typeof json], [200, 'string'])
    }
  }

const ask = (query: object) => ({ body: { k: 1, vector: null, ...query } })
const everyRow = [0, 1, 2]

export const rowCases = cases({
  InsertIntoTable: {
    'appends or replaces rows': async (fixture) => {
      const id = await fixture.table(3)
      const modes = { append: 4, Append: 5, '"Append"': 6, OVERWRITE: 1 }
      for (const [mode, expected] of Object.entries(modes)) {
        const response = await fixture.ok('InsertIntoTable', id, { body: rows(1), query: { mode } })
        equal(response['num_inserted_rows'], 1)
        equal((await idsIn(fixture, id)).length, expected)
      }
      const unknown = { body: rows(1), query: { mode: 'upsert' } }
      await fixture.expectError('InsertIntoTable', id, unknown, 'InvalidInput')
    },
    'rejects rows of another schema, and a body that is not an Arrow stream': async ({
      rejects,
      sampleTable,
    }) => {
      await rejects('InsertIntoTable', sampleTable, otherRows(), 'TableSchemaValidationError')
      for (const body of [new Uint8Array(), new TextEncoder().encode('no Arrow')]) {
        await rejects('InsertIntoTable', sampleTable, body, 'InvalidInput')
      }
    },
    'rejects a missing branch': ({ expectError, sampleTable }) => {
      const parts = { body: rows(1), query: { branch: 'absent' } }
      return expectError('InsertIntoTable', sampleTable, parts, 'TableBranchNotFound')
    },
  },
  MergeInsertIntoTable: {
    'updates matching rows and inserts the others': async (fixture) => {
      const id = await fixture.table(3)
      const response = await fixture.ok('MergeInsertIntoTable', id, {
        body: rows(3, 2),
        query: { on: 'id', when_matched_update_all: 'true', when_not_matched_insert_all: 'true' },
      })
      deepEqual(
        [response['num_updated_rows'], response['num_inserted_rows'], response['num_deleted_rows']],
        [1, 2, 0],
      )
      deepEqual(await sortedIdsIn(fixture, id), [0, 1, 2, 3, 4])
    },
    'deletes rows without a match in the source if requested': async (fixture) => {
      const id = await fixture.table(3)
      await fixture.ok('MergeInsertIntoTable', id, {
        body: rows(1, 2),
        query: {
          on: 'id',
          when_matched_update_all: 'true',
          when_not_matched_by_source_delete: 'true',
          when_not_matched_by_source_delete_filt: 'id = 0',
        },
      })
      deepEqual(await sortedIdsIn(fixture, id), [1, 2])
    },
    'matches by several columns': async (fixture) => {
      const id = await fixture.table(3)
      const query = { on: ['id', 'name'], when_not_matched_insert_all: 'true', timeout: '30s' }
      await fixture.ok('MergeInsertIntoTable', id, { body: rows(4), query })
      deepEqual(await sortedIdsIn(fixture, id), [0, 1, 2, 3])
    },
    'rejects a request without required parameters': async ({ expectError, rejects, sampleTable }) => {
      await rejects('MergeInsertIntoTable', sampleTable, rows(1), 'InvalidInput')
      const query = { on: 'id', when_matched_update_all: 'perhaps' }
      await expectError('MergeInsertIntoTable', sampleTable, { body: rows(1), query }, 'InvalidInput')
    },
    'rejects an unknown column': ({ expectError, sampleTable }) => {
      const parts = { body: rows(1), query: { on: 'nothing', when_not_matched_insert_all: 'true' } }
      return expectError('MergeInsertIntoTable', sampleTable, parts, 'TableColumnNotFound', 'InvalidInput')
    },
  },
  UpdateTable: {
    'updates matching rows, and all rows without a predicate': async (fixture) => {
      const id = await fixture.table(3)
      const updates = [['id', 'id + 10']]
      const some = await fixture.ok('UpdateTable', id, { body: { predicate: 'id > 0', updates } })
      deepEqual([some['updated_rows'], some['version']], [2, 2])
      for (const predicate of [undefined, null]) {
        equal((await fixture.ok('UpdateTable', id, { body: { predicate, updates } }))['updated_rows'], 3)
      }
      deepEqual(await sortedIdsIn(fixture, id), [20, 31, 32])
    },
    'rejects invalid updates': async ({ rejects, sampleTable }) => {
      const wrong = [
        ['1', '2'].map((value) => ['id', value]),
        [['id']],
        [['id', '1', '2']],
        [],
        [['id', 'not SQL (']],
      ]
      for (const updates of wrong) {
        await rejects('UpdateTable', sampleTable, { updates }, 'InvalidInput')
      }
      const body = { updates: [['nothing', '1']] }
      await rejects('UpdateTable', sampleTable, body, 'TableColumnNotFound', 'InvalidInput')
    },
  },
  DeleteFromTable: {
    'deletes matching rows': async (fixture) => {
      const id = await fixture.table(3)
      equal((await fixture.ok('DeleteFromTable', id, { body: { predicate: 'id = 1' } }))['version'], 2)
      deepEqual(await idsIn(fixture, id), [0, 2])
      deepEqual(await idsIn(fixture, id, { version: 1 }), everyRow)
    },
    'rejects a predicate that is blank or not SQL': async ({ rejects, sampleTable }) => {
      for (const predicate of ['', '  ', 'id >> >']) {
        await rejects('DeleteFromTable', sampleTable, { predicate }, 'InvalidInput')
      }
    },
  },
  QueryTable: {
    'returns an Arrow file': async (fixture) => {
      deepEqual(await idsIn(fixture, fixture.sampleTable), everyRow)
      const { bytes } = await fixture.call('QueryTable', fixture.sampleTable, { body: { k: 10 } })
      equal(Buffer.from(bytes.subarray(-6)).toString(), 'ARROW1')
    },
    'applies k, offset, filter and order': async (fixture) => {
      const { sampleTable } = fixture
      deepEqual(await idsIn(fixture, sampleTable, { k: 2 }), [0, 1])
      deepEqual(await idsIn(fixture, sampleTable, { k: 2, offset: 1 }), [1, 2])
      deepEqual(await idsIn(fixture, sampleTable, { filter: "name = 'name 1'" }), [1])
      const order_by = [{ column_name: 'id', ascending: false }]
      deepEqual(await idsIn(fixture, sampleTable, { order_by }), [2, 1, 0])
      const unlimited = '{"k":9223372036854775807,"vector":[],"filter":null}'
      const { bytes } = await fixture.call('QueryTable', sampleTable, { body: unlimited })
      deepEqual(idsOf(bytes), everyRow)
    },
    'selects columns by name or alias, in every form': async ({ call, sampleTable }) => {
      const forms: [unknown, string][] = [
        [{ column_names: ['name'] }, 'name'],
        [{ column_aliases: { renamed: 'name' } }, 'renamed'],
        [['name', 'id'], 'name,id'],
        [null, 'id,name,embedding'],
      ]
      for (const [columns, expected] of forms) {
        const { bytes } = await call('QueryTable', sampleTable, ask({ columns }))
        equal(columnsOf(bytes).join(), expected)
      }
    },
    'returns the nearest vectors first, for every form of the vector': async ({ call, sampleTable }) => {
      for (const vector of [{ single_vector: [2, 1] }, [2, 1], { multi_vector: [[2, 1]] }, [[2, 1]]]) {
        const query = ask({ k: 2, vector, vector_column: 'embedding' })
        const { bytes } = await call('QueryTable', sampleTable, query)
        deepEqual(idsOf(bytes), [2, 1])
        assert(columnsOf(bytes).includes('_distance'))
      }
    },
    'scans for every form of no vector': async ({ call, table }) => {
      const id = await table()
      for (const vector of [undefined, null, [], {}, { single_vector: [] }, { multi_vector: [] }]) {
        const { bytes } = await call('QueryTable', id, { body: { k: 100, vector } })
        deepEqual(idsOf(bytes), everyRow)
        equal(columnsOf(bytes).includes('_distance'), false)
      }
    },
    'returns row ids if requested': async ({ call, sampleTable }) => {
      const { bytes } = await call('QueryTable', sampleTable, ask({ with_row_id: true }))
      assert(columnsOf(bytes).includes('_rowid'))
    },
    'rejects an invalid query': async ({ expectError, sampleTable }) => {
      for (const query of [{ filter: 'id >> >' }, { k: -1 }, { k: 'many' }, { vector: 'near' }]) {
        await expectError('QueryTable', sampleTable, ask(query), 'InvalidInput')
      }
      const absent = ask({ filter: 'nothing > 1' })
      await expectError('QueryTable', sampleTable, absent, 'TableColumnNotFound', 'InvalidInput')
      await expectError('QueryTable', sampleTable, ask({ version: 99 }), 'TableVersionNotFound')
      await expectError('QueryTable', sampleTable, ask({ branch: 'absent' }), 'TableBranchNotFound')
    },
  },
  CountTableRows: {
    'returns only the number': async ({ call, sampleTable }) => {
      for (const predicate of [undefined, null, 'id > 0']) {
        const expected = predicate ? 2 : 3
        const body = { predicate, version: null }
        const { json, bytes } = await call('CountTableRows', sampleTable, { body })
        deepEqual([json, Buffer.from(bytes).toString()], [expected, String(expected)])
      }
      equal((await call('CountTableRows', sampleTable, { method: 'GET' })).json, 3)
    },
    'rejects an invalid count': async ({ rejects, sampleTable }) => {
      await rejects('CountTableRows', sampleTable, { predicate: 'id >> >' }, 'InvalidInput')
      await rejects('CountTableRows', sampleTable, { version: 99 }, 'TableVersionNotFound')
      await rejects('CountTableRows', sampleTable, { branch: 'absent' }, 'TableBranchNotFound')
    },
  },
  ExplainTableQueryPlan: {
    'returns a JSON string without paths': async ({ call, ok, sampleTable }) => {
      const { location } = await ok('DescribeTable', sampleTable)
      const query = { k: 5, vector: { single_vector: [1, 1] }, filter: 'id > 0' }
      const { json } = await call('ExplainTableQueryPlan', sampleTable, { body: { query, verbose: true } })
      match(String(json), /Lance/)
      equal(typeof json, 'string')
      equal(String(json).includes(String(location).replace(/^file:\/+/, '')), false)
    },
    'plans a query in every form': acceptsEveryForm('ExplainTableQueryPlan'),
    'rejects an invalid query': async ({ rejects, sampleTable }) => {
      const query = { k: 1, vector: null, filter: 'id >> >' }
      await rejects('ExplainTableQueryPlan', sampleTable, { query }, 'InvalidInput')
      const other = { k: 1, vector: null, id: ['other'] }
      await rejects('ExplainTableQueryPlan', sampleTable, { query: other }, 'InvalidInput')
    },
  },
  AnalyzeTableQueryPlan: {
    'returns a JSON string with measurements': async ({ call, sampleTable }) => {
      const { json } = await call('AnalyzeTableQueryPlan', sampleTable, ask({ filter: 'id > 0' }))
      match(String(json), /output_rows|metrics/)
    },
    'measures a query in every form': acceptsEveryForm('AnalyzeTableQueryPlan'),
    'rejects an invalid query': ({ expectError, sampleTable }) =>
      expectError('AnalyzeTableQueryPlan', sampleTable, ask({ filter: 'id >> >' }), 'InvalidInput'),
  },
})
