import { deepEqual, equal, ok as assert } from 'node:assert/strict'
import { cases, type World } from '../world.ts'

interface DescribedField {
  readonly name: string
  readonly type: { readonly type: string }
  readonly nullable: boolean
  readonly metadata?: Readonly<Record<string, string>>
}

async function fieldsOf({ ok }: World, id: readonly string[]): Promise<readonly DescribedField[]> {
  const { schema } = await ok('DescribeTable', id, { body: { load_detailed_metadata: true } })
  return (schema as { fields: DescribedField[] }).fields
}

async function namesOf(world: World, id: readonly string[]): Promise<string[]> {
  return (await fieldsOf(world, id)).map(({ name }) => name)
}

/** The operations on columns, metadata and statistics (interface sections 2.3 and 2.6). */
export const columnCases = cases({
  AlterTableAddColumns: {
    'an expression is computed for every row': async (world) => {
      const id = await world.table(3)
      const new_columns = [{ name: 'twice', expression: 'id * 2' }]
      equal((await world.ok('AlterTableAddColumns', id, { body: { new_columns } }))['version'], 2)
      deepEqual(await namesOf(world, id), ['id', 'name', 'embedding', 'twice'])
      equal((await world.call('CountTableRows', id, { body: { predicate: 'twice = 4' } })).json, 1)
    },
    'a name that is taken and what is no expression are refused': async ({ refused, standing }) => {
      for (const column of [
        { name: 'id', expression: '1' },
        { name: 'x', expression: 'not SQL (' },
      ]) {
        const body = { new_columns: [column] }
        await refused(
          'AlterTableAddColumns',
          standing,
          { body },
          'InvalidInput',
          'TableSchemaValidationError',
        )
      }
      await refused('AlterTableAddColumns', standing, { body: { new_columns: [] } }, 'InvalidInput')
    },
  },
  AlterTableAlterColumns: {
    'a column gets another name and may hold nulls': async (world) => {
      const id = await world.table()
      const alterations = [{ path: 'name', rename: 'title', nullable: true }]
      await world.ok('AlterTableAlterColumns', id, { body: { alterations } })
      const field = (await fieldsOf(world, id))[1]
      deepEqual([field?.name, field?.nullable], ['title', true])
    },
    'a type is a name or an object': async (world) => {
      for (const data_type of ['int64', { type: 'int64' }]) {
        const id = await world.table()
        const body = { alterations: [{ path: 'id', data_type }] }
        await world.ok('AlterTableAlterColumns', id, { body })
        equal((await fieldsOf(world, id))[0]?.type.type, 'int64')
      }
    },
    'what cannot be altered is refused': async ({ refused, standing }) => {
      const absent = { alterations: [{ path: 'nothing', nullable: true }] }
      await refused(
        'AlterTableAlterColumns',
        standing,
        { body: absent },
        'TableColumnNotFound',
        'InvalidInput',
      )
      const taken = { alterations: [{ path: 'name', rename: 'id' }] }
      await refused(
        'AlterTableAlterColumns',
        standing,
        { body: taken },
        'InvalidInput',
        'TableSchemaValidationError',
      )
    },
  },
  AlterTableDropColumns: {
    'a column is gone': async (world) => {
      const id = await world.table()
      await world.ok('AlterTableDropColumns', id, { body: { columns: ['name'] } })
      deepEqual(await namesOf(world, id), ['id', 'embedding'])
    },
    'what is not there cannot be dropped': async ({ refused, standing }) => {
      await refused(
        'AlterTableDropColumns',
        standing,
        { body: { columns: ['nothing'] } },
        'TableColumnNotFound',
        'InvalidInput',
      )
      await refused('AlterTableDropColumns', standing, { body: { columns: [] } }, 'InvalidInput')
    },
  },
  UpdateFieldMetadata: {
    'pairs are added, removed by null, and replaced where told': async ({ ok, table }) => {
      const id = await table()
      const update = async (metadata: object, replace?: boolean) => {
        const body = { updates: [{ path: 'id', metadata, replace }] }
        return (await ok('UpdateFieldMetadata', id, { body }))['fields'] as Record<string, unknown>
      }
      deepEqual((await update({ a: '1', b: '2' }))['id'], { a: '1', b: '2' })
      deepEqual((await update({ a: null, c: '3' }))['id'], { b: '2', c: '3' })
      deepEqual((await update({ d: '4' }, true))['id'], { d: '4' })
    },
    'a path that leads nowhere is refused': ({ refused, standing }) =>
      refused(
        'UpdateFieldMetadata',
        standing,
        { body: { updates: [{ path: 'nothing', metadata: { a: '1' } }] } },
        'TableColumnNotFound',
        'InvalidInput',
      ),
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
    'values that are no strings are refused': ({ refused, standing }) =>
      refused('UpdateTableSchemaMetadata', standing, { body: { a: 1 } }, 'InvalidInput'),
  },
  GetTableStats: {
    'rows and fragments are counted': async ({ ok, table }) => {
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
