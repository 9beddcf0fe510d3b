import { deepEqual, equal, match, ok as assert } from 'node:assert/strict'
import { noRows, rows } from '../sample-rows.ts'
import { cases, type Fixture } from '../fixture.ts'

const detailed = { body: { load_detailed_metadata: true } }
const owned = { owner: 'ann' }

async function countOf(fixture: Fixture, id: readonly string[]): Promise<unknown> {
  return (await fixture.call('CountTableRows', id, { body: {} })).json
}

export const tableCases = cases({
  CreateTable: {
    'creates the table with its rows': async (fixture) => {
      const id = fixture.unusedId()
      const created = await fixture.ok('CreateTable', id, { body: rows(3) })
      deepEqual([created['version'], typeof created['location']], [1, 'string'])
      equal(await countOf(fixture, id), 3)
    },
    'accepts a missing content type': async ({ ok, unusedId }) => {
      for (const type of ['', 'application/octet-stream', 'application/vnd.apache.arrow.stream;v=1']) {
        await ok('CreateTable', unusedId(), { body: rows(1), headers: { 'content-type': type } })
      }
    },
    'creates an empty table from a stream without rows': async (fixture) => {
      const id = fixture.unusedId()
      await fixture.ok('CreateTable', id, { body: noRows() })
      equal(await countOf(fixture, id), 0)
    },
    'rejects a body that is not an Arrow stream, and creates nothing': async ({
      expectError,
      rejects,
      unusedId,
    }) => {
      const id = unusedId()
      for (const body of [new Uint8Array(), new TextEncoder().encode('no Arrow'), rows(2).subarray(0, 200)]) {
        await rejects('CreateTable', id, body, 'InvalidInput', 'TableSchemaValidationError')
      }
      await expectError('TableExists', id, {}, 'TableNotFound')
    },
    'rejects an existing name': async ({ expectError, rejects, sampleTable, runNamespace, namespace }) => {
      for (const mode of ['create', 'Create', 'CREATE', '"Create"']) {
        const parts = { body: rows(1), query: { mode } }
        await expectError('CreateTable', sampleTable, parts, 'TableAlreadyExists')
      }
      await rejects('CreateTable', await namespace(), rows(1), 'TableAlreadyExists')
      await rejects('CreateTable', runNamespace, rows(1), 'TableAlreadyExists')
    },
    'leaves an existing table unchanged with the mode ExistOk, and returns its version': async (fixture) => {
      const id = await fixture.table(3)
      for (const mode of ['ExistOk', 'exist_ok', 'EXISTOK']) {
        const response = await fixture.ok('CreateTable', id, { body: rows(1), query: { mode } })
        equal(response['version'], 1)
      }
      equal(await countOf(fixture, id), 3)
    },
    'replaces the rows with the mode Overwrite, and retains the old version': async (fixture) => {
      const id = await fixture.table(3)
      const response = await fixture.ok('CreateTable', id, { body: rows(1), query: { mode: 'overwrite' } })
      equal(response['version'], 2)
      equal(await countOf(fixture, id), 1)
      equal((await fixture.call('CountTableRows', id, { body: { version: 1 } })).json, 3)
    },
    'rejects an unknown mode': ({ expectError, unusedId }) =>
      expectError('CreateTable', unusedId(), { body: rows(1), query: { mode: 'append' } }, 'InvalidInput'),
    'accepts properties in the query and in a header': async ({ ok, expectError, unusedId }) => {
      const properties = JSON.stringify(owned)
      for (const parts of [
        { query: { properties } },
        { headers: { 'x-catalog-table-properties': properties } },
      ]) {
        const id = unusedId()
        await ok('CreateTable', id, { body: rows(1), ...parts })
        deepEqual((await ok('DescribeTable', id))['properties'], owned)
      }
      for (const properties of ['{', '[]', '{"a":1}']) {
        await expectError('CreateTable', unusedId(), { body: rows(1), query: { properties } }, 'InvalidInput')
      }
    },
  },
  DeclareTable: {
    'reserves the name without data': async ({ ok, rejects, unusedId }) => {
      const id = unusedId()
      const declared = await ok('DeclareTable', id, { body: { properties: owned } })
      assert((declared['location'] as string).length > 0)
      const described = await ok('DescribeTable', id, {
        body: { check_declared: true, load_detailed_metadata: true },
      })
      deepEqual(
        [described['is_only_declared'], described['version'], described['schema'], described['properties']],
        [true, undefined, undefined, owned],
      )
      await rejects('DeclareTable', id, {}, 'TableAlreadyExists')
    },
    'adds data with the first insert': async (fixture) => {
      const id = fixture.unusedId()
      await fixture.ok('DeclareTable', id, { body: {} })
      await fixture.ok('InsertIntoTable', id, { body: rows(2) })
      equal(await countOf(fixture, id), 2)
      const described = await fixture.ok('DescribeTable', id, { body: { check_declared: true } })
      equal(described['is_only_declared'], false)
    },
    'rejects a location that the catalog would not choose': async ({ rejects, unusedId }) => {
      for (const location of ['s3://bucket/x.lance', '../x.lance', '/etc/x.lance']) {
        await rejects('DeclareTable', unusedId(), { location }, 'InvalidInput')
      }
    },
  },
  DescribeTable: {
    'returns the location without details': async ({ ok, sampleTable }) => {
      const described = await ok('DescribeTable', sampleTable)
      deepEqual(
        [typeof described['location'], described['version'], described['schema'], described['stats']],
        ['string', undefined, undefined, undefined],
      )
    },
    'returns details if requested in the query or in the body': async ({ ok, sampleTable }) => {
      for (const parts of [detailed, { query: { load_detailed_metadata: 'true' } }]) {
        const described = await ok('DescribeTable', sampleTable, parts)
        deepEqual(described['version'], 1)
        const { fields } = described['schema'] as { fields: { name: string; type: { type: string } }[] }
        deepEqual(
          fields.map(({ name, type }) => `${name} ${type.type}`),
          ['id int32', 'name utf8', 'embedding fixed_size_list'],
        )
        deepEqual(described['stats'], { num_deleted_rows: 0, num_fragments: 1 })
        deepEqual([...(described['namespace'] as string[]), described['table']], sampleTable)
      }
    },
    'returns the URI if requested': async ({ ok, sampleTable }) => {
      equal((await ok('DescribeTable', sampleTable))['table_uri'], undefined)
      const { table_uri: uri } = await ok('DescribeTable', sampleTable, { query: { with_table_uri: 'true' } })
      match(String(uri), /^[a-z0-9+]+:\/\//)
    },
    'rejects a flag that differs between query and body': ({ expectError, sampleTable }) =>
      expectError(
        'DescribeTable',
        sampleTable,
        { body: { check_declared: true }, query: { check_declared: 'false' } },
        'InvalidInput',
      ),
    'describes an old version': async ({ ok, rejects, table }) => {
      const id = await table()
      await ok('AlterTableAddColumns', id, { body: { new_columns: [{ name: 'two', expression: 'id + 2' }] } })
      const described = await ok('DescribeTable', id, { body: { version: 1, load_detailed_metadata: true } })
      deepEqual([described['version'], (described['schema'] as { fields: [] }).fields.length], [1, 3])
      await rejects('DescribeTable', id, { version: 99 }, 'TableVersionNotFound')
    },
    'describes a tag and a branch': async ({ ok, rejects, table }) => {
      const id = await table()
      await ok('CreateTableTag', id, { body: { tag: 'first', version: 1 } })
      await ok('InsertIntoTable', id, { body: rows(1) })
      const tagged = await ok('DescribeTable', id, { body: { tag: 'first', load_detailed_metadata: true } })
      equal(tagged['version'], 1)
      await rejects('DescribeTable', id, { tag: 'absent' }, 'TableTagNotFound')
      await rejects('DescribeTable', id, { branch: 'absent' }, 'TableBranchNotFound')
    },
  },
  TableExists: {
    'returns an empty response': async ({ ok, sampleTable }) => {
      await ok('TableExists', sampleTable)
      await ok('TableExists', sampleTable, { body: { version: 1 } })
    },
    'rejects a namespace and a missing version': async ({ expectError, rejects, sampleTable, namespace }) => {
      await expectError('TableExists', await namespace(), {}, 'TableNotFound')
      await rejects('TableExists', sampleTable, { version: 99 }, 'TableVersionNotFound')
    },
  },
})
