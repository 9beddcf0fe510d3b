import { deepEqual, equal, ok as assert } from 'node:assert/strict'
import { Field, Int32, RecordBatchStreamWriter, Schema } from 'apache-arrow'
import type { ErrorName } from '../../../src/catalog-api/catalog-error.ts'
import type { Identifier } from '../../../src/catalog-api/identifiers.ts'
import { cases, type Fixture } from '../fixture.ts'
import { waitForJob } from '../jobs.ts'

function quoteTable(id: Identifier): string {
  return id.map((name) => `"${name}"`).join('.')
}

/** Creates a view of two rows, still empty, over a table of three. */
async function createView(fixture: Fixture): Promise<{ source: Identifier; view: Identifier }> {
  const source = await fixture.table(3)
  const view = fixture.unusedId()
  const query = `SELECT id, id * 2 AS double FROM ${quoteTable(source)} WHERE id > 0`
  await fixture.ok('CreateMaterializedView', view, { body: { query, with_no_data: true } })
  return { source, view }
}

async function count({ call }: Fixture, id: Identifier, predicate = 'true'): Promise<unknown> {
  return (await call('CountTableRows', id, { body: { predicate } })).json
}

function encodeSchema(...names: string[]): string {
  const writer = new RecordBatchStreamWriter()
  writer.reset(undefined, new Schema(names.map((name) => new Field(name, new Int32(), true))))
  return Buffer.from(writer.finish().toUint8Array(true)).toString('base64')
}

export const materializedViewCases = cases({
  CreateMaterializedView: {
    'creates an empty view in the form of the interface': async (fixture) => {
      const source = await fixture.table(3)
      const view = fixture.unusedId()
      const body = {
        kind: 'query',
        source_query: `SELECT id FROM ${quoteTable(source)}`,
        output_schema: encodeSchema('id'),
      }
      await fixture.ok('CreateMaterializedView', view, { body })
      equal(await count(fixture, view), 0)
    },
    'fills a view by a job if data is requested': async (fixture) => {
      const source = await fixture.table(3)
      const view = fixture.unusedId()
      const body = { query: `SELECT * FROM ${quoteTable(source)}`, with_no_data: false }
      const { job_id } = await fixture.ok('CreateMaterializedView', view, { body })
      equal(await waitForJob(fixture, job_id), 'DONE')
      equal(await count(fixture, view), 3)
    },
    'rejects a taken name, a missing source, and an invalid query': async (fixture) => {
      const { source, view } = await createView(fixture)
      const from = quoteTable(source)
      const create = async (id: Identifier, query: string, ...errors: ErrorName[]) =>
        await fixture.expectError('CreateMaterializedView', id, { body: { query } }, ...errors)
      await create(view, `SELECT * FROM ${from}`, 'TableAlreadyExists')
      const other = fixture.unusedId()
      await create(other, `SELECT * FROM ${quoteTable(fixture.unusedId())}`, 'TableNotFound')
      await create(other, `SELECT absent FROM ${from}`, 'InvalidInput', 'TableColumnNotFound')
      await create(other, 'not SQL (', 'InvalidInput')
    },
  },
  RefreshMaterializedView: {
    'replaces the rows by the current result of the query': async (fixture) => {
      const { source, view } = await createView(fixture)
      const refresh = async () => {
        const { job_id } = await fixture.ok('RefreshMaterializedView', view, { body: {} })
        equal(await waitForJob(fixture, job_id), 'DONE')
      }
      await refresh()
      equal(await count(fixture, view, 'double = id * 2'), 2)
      await fixture.ok('DeleteFromTable', source, { body: { predicate: 'id = 1' } })
      await refresh()
      equal(await count(fixture, view), 1)
    },
    'rejects a table that is no view': ({ expectError, sampleTable }) =>
      expectError('RefreshMaterializedView', sampleTable, { body: {} }, 'TableNotFound'),
  },
  DescribeMaterializedView: {
    'returns the query and its source': async (fixture) => {
      const { source, view } = await createView(fixture)
      const { query, source_table, filter } = await fixture.ok('DescribeMaterializedView', view)
      assert(String(query).startsWith('SELECT id'))
      deepEqual([source_table, filter], [source.at(-1), 'id > 0'])
    },
    'rejects a table that is no view': ({ expectError, sampleTable }) =>
      expectError('DescribeMaterializedView', sampleTable, {}, 'TableNotFound'),
  },
  ListMaterializedViews: {
    'lists views and no other tables': async (fixture) => {
      const { source, view } = await createView(fixture)
      const { views } = await fixture.ok('ListMaterializedViews', fixture.runNamespace)
      const names = views as string[]
      deepEqual([names.includes(view.at(-1) ?? ''), names.includes(source.at(-1) ?? '')], [true, false])
    },
  },
  DropMaterializedView: {
    'drops a view and leaves its source': async (fixture) => {
      const { source, view } = await createView(fixture)
      await fixture.ok('DropMaterializedView', view)
      await fixture.expectError('DescribeMaterializedView', view, {}, 'TableNotFound')
      equal(await count(fixture, source), 3)
    },
    'rejects a table that is no view': ({ expectError, sampleTable }) =>
      expectError('DropMaterializedView', sampleTable, {}, 'TableNotFound'),
  },
  DeleteFromTable: {
    'does not delete rows of a materialized view': async (fixture) => {
      const { view } = await createView(fixture)
      await fixture.expectError('DeleteFromTable', view, { body: { predicate: 'true' } }, 'InvalidInput')
    },
  },
})
