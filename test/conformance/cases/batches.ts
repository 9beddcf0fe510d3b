import { deepEqual, equal } from 'node:assert/strict'
import { stageVersions } from '../staged-versions.ts'
import { cases } from '../world.ts'

const notThere = { version: 2, manifest_path: 'not/there.lance/_versions/2.manifest-1' }

/** The operations that change several tables at once (interface sections 2.4 and 7.7). */
export const batchCases = cases({
  BatchCreateTableVersions: {
    'versions of several tables are committed, and answered in order': async (world) => {
      const [one, other] = [await world.table(), await world.table()]
      const entries = [
        ...(await stageVersions(world, other)).map((version) => ({ id: other, ...version })),
        ...(await stageVersions(world, one, 2)).map((version) => ({ id: one, ...version })),
      ]
      const { versions } = await world.ok('BatchCreateTableVersions', [], { body: { entries } })
      deepEqual(
        (versions as { version: number }[]).map(({ version }) => version),
        [2, 2, 3],
      )
      equal((await world.call('CountTableRows', one, { body: {} })).json, 5)
      equal((await world.call('CountTableRows', other, { body: {} })).json, 4)
    },
    'one conflict refuses all': async (world) => {
      const [one, other] = [await world.table(), await world.table()]
      const [good] = await stageVersions(world, one)
      const [late] = await stageVersions(world, other)
      const [early] = await stageVersions(world, other)
      await world.ok('CreateTableVersion', other, { body: early })
      const body = {
        entries: [
          { id: one, ...good },
          { id: other, ...late },
        ],
      }
      await world.refused('BatchCreateTableVersions', [], { body }, 'ConcurrentModification')
      equal((await world.call('CountTableRows', one, { body: {} })).json, 3)
    },
    'tables that are not there, or not named, are refused': async ({ refused, home }) => {
      const absent = { entries: [{ id: [...home, 'absent'], ...notThere }] }
      await refused('BatchCreateTableVersions', [], { body: absent }, 'TableNotFound')
      await refused('BatchCreateTableVersions', [], { body: { entries: [notThere] } }, 'InvalidInput')
      await refused('BatchCreateTableVersions', [], { body: { entries: [] } }, 'InvalidInput')
    },
  },
  BatchCommitTables: {
    'changes of several kinds are made, and answered in order': async (world) => {
      const [fresh, old, written] = [world.fresh(), await world.table(), await world.table()]
      const [staged] = await stageVersions(world, written)
      const operations = [
        { declare_table: { id: fresh } },
        { create_table_version: { id: written, ...staged } },
        { deregister_table: { id: old } },
      ]
      const { results } = await world.ok('BatchCommitTables', [], { body: { operations } })
      deepEqual(
        (results as object[]).map((result) => Object.keys(result)),
        [['declare_table'], ['create_table_version'], ['deregister_table']],
      )
      await world.ok('TableExists', fresh)
      await world.refused('TableExists', old, {}, 'TableNotFound')
    },
    'one refusal refuses all': async ({ refused, fresh, standing }) => {
      const id = fresh()
      const body = { operations: [{ declare_table: { id } }, { declare_table: { id: standing } }] }
      await refused('BatchCommitTables', [], { body }, 'TableAlreadyExists')
      await refused('TableExists', id, {}, 'TableNotFound')
    },
    'a change of no kind, of two, or of nothing is refused': async ({ refused, fresh }) => {
      const id = fresh()
      const wrong = [{}, { declare_table: { id }, deregister_table: { id } }, { declare_table: {} }]
      for (const operation of wrong) {
        await refused('BatchCommitTables', [], { body: { operations: [operation] } }, 'InvalidInput')
      }
      await refused('BatchCommitTables', [], { body: { operations: [] } }, 'InvalidInput')
    },
  },
})
