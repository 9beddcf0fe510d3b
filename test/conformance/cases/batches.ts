import { deepEqual, equal } from 'node:assert/strict'
import { stageVersions } from '../staged-versions.ts'
import { cases } from '../fixture.ts'

const missingManifest = { version: 2, manifest_path: 'not/there.lance/_versions/2.manifest-1' }

export const batchCases = cases({
  BatchCreateTableVersions: {
    'commits versions of several tables, with results in order': async (fixture) => {
      const [one, other] = [await fixture.table(), await fixture.table()]
      const entries = [
        ...(await stageVersions(fixture, other)).map((version) => ({ id: other, ...version })),
        ...(await stageVersions(fixture, one, 2)).map((version) => ({ id: one, ...version })),
      ]
      const { versions } = await fixture.ok('BatchCreateTableVersions', [], { body: { entries } })
      const numbers = (versions as { version: number }[]).map(({ version }) => version)
      deepEqual(numbers, [2, 2, 3])
      equal((await fixture.call('CountTableRows', one, { body: {} })).json, 5)
      equal((await fixture.call('CountTableRows', other, { body: {} })).json, 4)
    },
    'rejects all versions if one conflicts': async (fixture) => {
      const [one, other] = [await fixture.table(), await fixture.table()]
      const [good] = await stageVersions(fixture, one)
      const [late] = await stageVersions(fixture, other)
      const [early] = await stageVersions(fixture, other)
      await fixture.ok('CreateTableVersion', other, { body: early })
      const entries = [
        { id: one, ...good },
        { id: other, ...late },
      ]
      await fixture.rejects('BatchCreateTableVersions', [], { entries }, 'ConcurrentModification')
      equal((await fixture.call('CountTableRows', one, { body: {} })).json, 3)
    },
    'rejects missing and unnamed tables': async ({ rejects, runNamespace }) => {
      const absent = { entries: [{ id: [...runNamespace, 'absent'], ...missingManifest }] }
      await rejects('BatchCreateTableVersions', [], absent, 'TableNotFound')
      await rejects('BatchCreateTableVersions', [], { entries: [missingManifest] }, 'InvalidInput')
      await rejects('BatchCreateTableVersions', [], { entries: [] }, 'InvalidInput')
    },
  },
  BatchCommitTables: {
    'makes changes of several kinds, with results in order': async (fixture) => {
      const [unusedId, old, written] = [fixture.unusedId(), await fixture.table(), await fixture.table()]
      const [staged] = await stageVersions(fixture, written)
      const operations = [
        { declare_table: { id: unusedId } },
        { create_table_version: { id: written, ...staged } },
        { deregister_table: { id: old } },
      ]
      const { results } = await fixture.ok('BatchCommitTables', [], { body: { operations } })
      const kinds = (results as object[]).flatMap((result) => Object.keys(result))
      deepEqual(kinds, ['declare_table', 'create_table_version', 'deregister_table'])
      await fixture.ok('TableExists', unusedId)
      await fixture.expectError('TableExists', old, {}, 'TableNotFound')
    },
    'rejects all changes if one is invalid': async ({ expectError, rejects, unusedId, sampleTable }) => {
      const id = unusedId()
      const body = { operations: [{ declare_table: { id } }, { declare_table: { id: sampleTable } }] }
      await rejects('BatchCommitTables', [], body, 'TableAlreadyExists')
      await expectError('TableExists', id, {}, 'TableNotFound')
    },
    'rejects a change of no kind, of two kinds, and of no object': async ({ rejects, unusedId }) => {
      const id = unusedId()
      const wrong = [{}, { declare_table: { id }, deregister_table: { id } }, { declare_table: {} }]
      for (const operation of wrong) {
        await rejects('BatchCommitTables', [], { operations: [operation] }, 'InvalidInput')
      }
      await rejects('BatchCommitTables', [], { operations: [] }, 'InvalidInput')
    },
  },
})
