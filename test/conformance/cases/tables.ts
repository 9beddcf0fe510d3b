import { deepEqual, equal, match, ok as assert } from 'node:assert/strict'
import { noRows, rows } from '../sample-rows.ts'
import { cases, type World } from '../world.ts'

const detailed = { body: { load_detailed_metadata: true } }
const owned = { owner: 'ann' }

async function countOf(world: World, id: readonly string[]): Promise<unknown> {
  return (await world.call('CountTableRows', id, { body: {} })).json
}

/** The operations on tables as entries of the catalog (interface sections 2.3, 5 and 9). */
export const tableCases = cases({
  CreateTable: {
    'it is there afterwards, with its rows': async (world) => {
      const id = world.fresh()
      const created = await world.ok('CreateTable', id, { body: rows(3) })
      deepEqual([created['version'], typeof created['location']], [1, 'string'])
      equal(await countOf(world, id), 3)
    },
    'the content type may be missing': async ({ ok, fresh }) => {
      for (const type of ['', 'application/octet-stream', 'application/vnd.apache.arrow.stream;v=1']) {
        await ok('CreateTable', fresh(), { body: rows(1), headers: { 'content-type': type } })
      }
    },
    'a stream without rows makes an empty table': async (world) => {
      const id = world.fresh()
      await world.ok('CreateTable', id, { body: noRows() })
      equal(await countOf(world, id), 0)
    },
    'what is no Arrow stream is refused, and nothing is there afterwards': async ({ refused, fresh }) => {
      const id = fresh()
      for (const body of [new Uint8Array(), new TextEncoder().encode('no Arrow'), rows(2).subarray(0, 200)]) {
        await refused('CreateTable', id, { body }, 'InvalidInput', 'TableSchemaValidationError')
      }
      await refused('TableExists', id, {}, 'TableNotFound')
    },
    'a name that is taken is refused': async ({ refused, standing, home, namespace }) => {
      for (const mode of ['create', 'Create', 'CREATE', '"Create"']) {
        await refused('CreateTable', standing, { body: rows(1), query: { mode } }, 'TableAlreadyExists')
      }
      await refused('CreateTable', await namespace(), { body: rows(1) }, 'TableAlreadyExists')
      await refused('CreateTable', home, { body: rows(1) }, 'TableAlreadyExists')
    },
    'the mode ExistOk leaves what is there, and tells its version': async (world) => {
      const id = await world.table(3)
      for (const mode of ['ExistOk', 'exist_ok', 'EXISTOK']) {
        const response = await world.ok('CreateTable', id, { body: rows(1), query: { mode } })
        equal(response['version'], 1)
      }
      equal(await countOf(world, id), 3)
    },
    'the mode Overwrite replaces the rows, and keeps the old version': async (world) => {
      const id = await world.table(3)
      const response = await world.ok('CreateTable', id, { body: rows(1), query: { mode: 'overwrite' } })
      equal(response['version'], 2)
      equal(await countOf(world, id), 1)
      equal((await world.call('CountTableRows', id, { body: { version: 1 } })).json, 3)
    },
    'an unknown mode is refused': ({ refused, fresh }) =>
      refused('CreateTable', fresh(), { body: rows(1), query: { mode: 'append' } }, 'InvalidInput'),
    'properties come in the query or in a header': async ({ ok, refused, fresh }) => {
      const properties = JSON.stringify(owned)
      for (const parts of [
        { query: { properties } },
        { headers: { 'x-catalog-table-properties': properties } },
      ]) {
        const id = fresh()
        await ok('CreateTable', id, { body: rows(1), ...parts })
        deepEqual((await ok('DescribeTable', id))['properties'], owned)
      }
      for (const properties of ['{', '[]', '{"a":1}']) {
        await refused('CreateTable', fresh(), { body: rows(1), query: { properties } }, 'InvalidInput')
      }
    },
  },
  DeclareTable: {
    'the name is reserved, and nothing is in it': async ({ ok, refused, fresh }) => {
      const id = fresh()
      const declared = await ok('DeclareTable', id, { body: { properties: owned } })
      assert((declared['location'] as string).length > 0)
      const described = await ok('DescribeTable', id, {
        body: { check_declared: true, load_detailed_metadata: true },
      })
      deepEqual(
        [described['is_only_declared'], described['version'], described['schema'], described['properties']],
        [true, undefined, undefined, owned],
      )
      await refused('DeclareTable', id, { body: {} }, 'TableAlreadyExists')
    },
    'the first rows make it a table': async (world) => {
      const id = world.fresh()
      await world.ok('DeclareTable', id, { body: {} })
      await world.ok('InsertIntoTable', id, { body: rows(2) })
      equal(await countOf(world, id), 2)
      const described = await world.ok('DescribeTable', id, { body: { check_declared: true } })
      equal(described['is_only_declared'], false)
    },
    'a location that the catalog would not choose is refused': async ({ refused, fresh }) => {
      for (const location of ['s3://bucket/x.lance', '../x.lance', '/etc/x.lance']) {
        await refused('DeclareTable', fresh(), { body: { location } }, 'InvalidInput')
      }
    },
  },
  DescribeTable: {
    'the location is told, and no details': async ({ ok, standing }) => {
      const described = await ok('DescribeTable', standing)
      deepEqual(
        [typeof described['location'], described['version'], described['schema'], described['stats']],
        ['string', undefined, undefined, undefined],
      )
    },
    'details are told when asked for, in the query or in the body': async ({ ok, standing }) => {
      for (const parts of [detailed, { query: { load_detailed_metadata: 'true' } }]) {
        const described = await ok('DescribeTable', standing, parts)
        deepEqual(described['version'], 1)
        const { fields } = described['schema'] as { fields: { name: string; type: { type: string } }[] }
        deepEqual(
          fields.map(({ name, type }) => `${name} ${type.type}`),
          ['id int32', 'name utf8', 'embedding fixed_size_list'],
        )
        deepEqual(described['stats'], { num_deleted_rows: 0, num_fragments: 1 })
        deepEqual([...(described['namespace'] as string[]), described['table']], standing)
      }
    },
    'the URI is told when asked for': async ({ ok, standing }) => {
      equal((await ok('DescribeTable', standing))['table_uri'], undefined)
      const { table_uri: uri } = await ok('DescribeTable', standing, { query: { with_table_uri: 'true' } })
      match(String(uri), /^[a-z0-9+]+:\/\//)
    },
    'a flag that differs between query and body is refused': ({ refused, standing }) =>
      refused(
        'DescribeTable',
        standing,
        { body: { check_declared: true }, query: { check_declared: 'false' } },
        'InvalidInput',
      ),
    'an old version is described as it was': async ({ ok, refused, table }) => {
      const id = await table()
      await ok('AlterTableAddColumns', id, { body: { new_columns: [{ name: 'two', expression: 'id + 2' }] } })
      const described = await ok('DescribeTable', id, { body: { version: 1, load_detailed_metadata: true } })
      deepEqual([described['version'], (described['schema'] as { fields: [] }).fields.length], [1, 3])
      await refused('DescribeTable', id, { body: { version: 99 } }, 'TableVersionNotFound')
    },
    'a tag and a branch are honoured': async ({ ok, refused, table }) => {
      const id = await table()
      await ok('CreateTableTag', id, { body: { tag: 'first', version: 1 } })
      await ok('InsertIntoTable', id, { body: rows(1) })
      const tagged = await ok('DescribeTable', id, { body: { tag: 'first', load_detailed_metadata: true } })
      equal(tagged['version'], 1)
      await refused('DescribeTable', id, { body: { tag: 'absent' } }, 'TableTagNotFound')
      await refused('DescribeTable', id, { body: { branch: 'absent' } }, 'TableBranchNotFound')
    },
  },
  TableExists: {
    'the answer is empty': async ({ ok, standing }) => {
      await ok('TableExists', standing)
      await ok('TableExists', standing, { body: { version: 1 } })
    },
    'a namespace is no table, and a version may be missing': async ({ refused, standing, namespace }) => {
      await refused('TableExists', await namespace(), {}, 'TableNotFound')
      await refused('TableExists', standing, { body: { version: 99 } }, 'TableVersionNotFound')
    },
  },
})
