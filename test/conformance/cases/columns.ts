import { deepEqual, equal, ok as assert } from 'node:assert/strict'
import { cases, type Fixture } from '../fixture.ts'

interface DescribedField {
  readonly name: string
  readonly type: { readonly type: string }
  readonly nullable: boolean
  readonly metadata?: Readonly<Record<string, string>>
}

async function fieldsOf({ ok }: Fixture, id: readonly string[]): Promise<readonly DescribedField[]> {
  const { schema } = await ok('DescribeTable', id, { body: { load_detailed_metadata: true } })
  return (schema as { fields: DescribedField[] }).fields
}

async function namesOf(fixture: Fixture, id: readonly string[]): Promise<string[]> {
  return (await fieldsOf(fixture, id)).map(({ name }) => name)
}

export const columnCases = cases({
  AlterTableAddColumns: {
    'computes an expression for every row': async (fixture) => {
      const id = await fixture.table(3)
      const new_columns = [{ name: 'twice', expression: 'id * 2' }]
      equal((await fixture.ok('AlterTableAddColumns', id, { body: { new_columns } }))['version'], 2)
      deepEqual(await namesOf(fixture, id), ['id', 'name', 'embedding', 'twice'])
      equal((await fixture.call('CountTableRows', id, { body: { predicate: 'twice = 4' } })).json, 1)
    },
    'rejects an existing name and an invalid expression': async ({ rejects, sampleTable }) => {
      for (const column of [
        { name: 'id', expression: '1' },
        { name: 'x', expression: 'not SQL (' },
      ]) {
        const body = { new_columns: [column] }
        await rejects('AlterTableAddColumns', sampleTable, body, 'InvalidInput', 'TableSchemaValidationError')
      }
      await rejects('AlterTableAddColumns', sampleTable, { new_columns: [] }, 'InvalidInput')
    },
  },
  AlterTableAlterColumns: {
    'renames a column and makes it nullable': async (fixture) => {
      const id = await fixture.table()
      const alterations = [{ path: 'name', rename: 'title', nullable: true }]
      await fixture.ok('AlterTableAlterColumns', id, { body: { alterations } })
      const field = (await fieldsOf(fixture, id))[1]
      deepEqual([field?.name, field?.nullable], ['title', true])
    },
    'accepts a type as a name and as an object': async (fixture) => {
      for (const data_type of ['int64', { type: 'int64' }]) {
        const id = await fixture.table()
        const body = { alterations: [{ path: 'id', data_type }] }
        await fixture.ok('AlterTableAlterColumns', id, { body })
        equal((await fieldsOf(fixture, id))[0]?.type.type, 'int64')
      }
    },
    'rejects invalid alterations': async ({ rejects, sampleTable }) => {
      const absent = { alterations: [{ path: 'nothing', nullable: true }] }
      await rejects('AlterTableAlterColumns', sampleTable, absent, 'TableColumnNotFound', 'InvalidInput')
      const taken = { alterations: [{ path: 'name', rename: 'id' }] }
      const errors = ['InvalidInput', 'TableSchemaValidationError'] as const
      await rejects('AlterTableAlterColumns', sampleTable, taken, ...errors)
    },
  },
  AlterTableDropColumns: {
    'drops a column': async (fixture) => {
      const id = await fixture.table()
      await fixture.ok('AlterTableDropColumns', id, { body: { columns: ['name'] } })
      deepEqual(await namesOf(fixture, id), ['id', 'embedding'])
    },
    'rejects dropping a missing column': async ({ rejects, sampleTable }) => {
      const body = { columns: ['nothing'] }
      await rejects('AlterTableDropColumns', sampleTable, body, 'TableColumnNotFound', 'InvalidInput')
      await rejects('AlterTableDropColumns', sampleTable, { columns: [] }, 'InvalidInput')
    },
  },
  UpdateFieldMetadata: {
    'adds pairs, removes them with null, and replaces them if requested': async ({ ok, table }) => {
      const id = await table()
      const update = async (metadata: object, replace?: boolean) => {
        const body = { updates: [{ path: 'id', metadata, replace }] }
        return (await ok('UpdateFieldMetadata', id, { body }))['fields'] as Record<string, unknown>
      }
      deepEqual((await update({ a: '1', b: '2' }))['id'], { a: '1', b: '2' })
      deepEqual((await update({ a: null, c: '3' }))['id'], { b: '2', c: '3' })
      deepEqual((await update({ d: '4' }, true))['id'], { d: '4' })
    },
    'rejects a path to a missing field': ({ rejects, sampleTable }) => {
      const body = { updates: [{ path: 'nothing', metadata: { a: '1' } }] }
      return rejects('UpdateFieldMetadata', sampleTable, body, 'TableColumnNotFound', 'InvalidInput')
    },
  },
  UpdateTableSchemaMetadata: {
    "every key is the caller's own, and the answer the bare map": async ({ ok, table }) => {
      const id = await table()
      const sent = { id: 'mine', identity: 'mine', owner: 'ann' }
      deepEqual({ ...(await ok('UpdateTableSchemaMetadata', id, { body: sent })) }, sent)
      const described = await ok('DescribeTable', id, { body: { load_detailed_metadata: true } })
      const { metadata } = described['schema'] as { metadata?: Record<string, string> }
      equal(metadata?.['owner'], 'ann')
    },
    'rejects values that are not strings': ({ rejects, sampleTable }) =>
      rejects('UpdateTableSchemaMetadata', sampleTable, { a: 1 }, 'InvalidInput'),
  },
  GetTableStats: {
    'counts rows and fragments': async ({ ok, table }) => {
      const id = await table(3)
      for (const parts of [{ body: {} }, { method: 'GET' }]) {
        const stats = await ok('GetTableStats', id, parts)
        const fragments = stats['fragment_stats'] as { num_fragments: number; lengths: { max: number } }
        deepEqual(
          [stats['num_rows'], stats['num_indices'], fragments.num_fragments, fragments.lengths.max],
          [3, 0, 1, 3],
        )
        assert(Number(stats['total_bytes']) > 0)
      }
    },
  },
})
