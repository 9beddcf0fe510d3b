import { deepEqual, equal, match, ok as assert } from 'node:assert/strict'
import { rows } from '../sample-rows.ts'
import { stageVersions } from '../staged-versions.ts'
import { cases, readPages, type Fixture } from '../fixture.ts'

interface Version {
  readonly version: number
  readonly manifest_path: string
  readonly manifest_size?: number
}

async function tableOfVersions(fixture: Fixture): Promise<readonly string[]> {
  const id = await fixture.table()
  for (let index = 0; index < 3; index += 1) await fixture.ok('InsertIntoTable', id, { body: rows(1) })
  return id
}

async function numbersOf({ ok }: Fixture, id: readonly string[], query = {}): Promise<number[]> {
  const { versions } = await ok('ListTableVersions', id, { query: { descending: 'true', ...query } })
  return numbersIn(versions)
}

function numbersIn(versions: unknown): number[] {
  return (versions as Version[]).map(({ version }) => version)
}

export const versionCases = cases({
  ListTableVersions: {
    'lists versions newest first if requested, with manifest keys': async (fixture) => {
      const id = await tableOfVersions(fixture)
      const { versions } = await fixture.ok('ListTableVersions', id, { query: { descending: 'true' } })
      deepEqual(numbersIn(versions), [4, 3, 2, 1])
      for (const { manifest_path: path } of versions as Version[]) match(path, /^[^/:]+\/[^:]*\.manifest$/)
    },
    'returns only the newest version, as clients request it': async (fixture) => {
      const id = await tableOfVersions(fixture)
      const query = { limit: '1', descending: 'true' }
      for (const parts of [{ body: 'null' }, { body: undefined }, { method: 'GET' }]) {
        const { versions } = await fixture.ok('ListTableVersions', id, { query, ...parts })
        deepEqual(numbersIn(versions), [4])
      }
    },
    'lists every version once over all pages': async (fixture) => {
      const id = await tableOfVersions(fixture)
      for (const descending of ['true', 'false']) {
        const parts = { id, query: { limit: '3', descending } }
        const pages = await readPages<Version>(fixture, 'ListTableVersions', 'versions', parts)
        const numbers = numbersIn(pages.flat())
        deepEqual(descending === 'true' ? numbers.toReversed() : numbers, [1, 2, 3, 4])
      }
    },
    'rejects a missing branch': ({ expectError, sampleTable }) =>
      expectError('ListTableVersions', sampleTable, { query: { branch: 'absent' } }, 'TableBranchNotFound'),
  },
  DescribeTableVersion: {
    'describes a version by number, and the newest': async ({ ok, table }) => {
      const id = await table()
      await ok('InsertIntoTable', id, { body: rows(1) })
      for (const version of [undefined, null, 1, 2]) {
        const response = await ok('DescribeTableVersion', id, { body: { version } })
        equal((response['version'] as Version).version, version ?? 2)
      }
    },
    'rejects a missing version': async ({ rejects, sampleTable }) => {
      await rejects('DescribeTableVersion', sampleTable, { version: 99 }, 'TableVersionNotFound')
      await rejects('DescribeTableVersion', sampleTable, { version: -1 }, 'InvalidInput')
    },
  },
  CreateTableVersion: {
    'commits the next version, and returns the final name of its manifest': async (fixture) => {
      const id = await fixture.table()
      const [staged] = await stageVersions(fixture, id)
      const { version } = await fixture.ok('CreateTableVersion', id, { body: staged })
      const { version: number, manifest_path: path, manifest_size: size } = version as Version
      deepEqual([number, size], [2, staged?.manifest_size])
      match(path, /\.manifest$/)
      equal((await fixture.call('CountTableRows', id, { body: {} })).json, 4)
    },
    'repeats the response to a replay, and rejects another manifest as a conflict': async (fixture) => {
      const id = await fixture.table()
      const [first] = await stageVersions(fixture, id)
      const [second] = await stageVersions(fixture, id)
      const once = await fixture.ok('CreateTableVersion', id, { body: first })
      deepEqual((await fixture.ok('CreateTableVersion', id, { body: first }))['version'], once['version'])
      await fixture.rejects('CreateTableVersion', id, second, 'ConcurrentModification')
      deepEqual(await numbersOf(fixture, id), [2, 1])
    },
    'lets one of several concurrent commits win': async (fixture) => {
      const id = await fixture.table()
      const staged = []
      for (let index = 0; index < 4; index += 1) staged.push(...(await stageVersions(fixture, id)))
      const responses = await Promise.all(
        staged.map((body) => fixture.call('CreateTableVersion', id, { body })),
      )
      const statuses = responses.map(({ status }) => status).toSorted((one, other) => one - other)
      deepEqual(statuses, [200, 409, 409, 409])
    },
    'rejects a missing manifest, and one outside of the table': async (fixture) => {
      const id = await fixture.table()
      const { location } = await fixture.ok('DescribeTable', id)
      const key = String(location).replace(/^(file:)?\/+/, '')
      const name = `_versions/18446744073709551613.manifest-00000000-0000-4000-8000-000000000000`
      for (const manifest_path of [`${key}/${name}`, `${key}/../${name}`, name, 'etc/passwd', '']) {
        const body = { version: 2, manifest_path, naming_scheme: 'V2' }
        await fixture.rejects('CreateTableVersion', id, body, 'InvalidInput', 'PermissionDenied')
      }
    },
  },
  BatchDeleteTableVersions: {
    'deletes half-open ranges of versions': async (fixture) => {
      const id = await tableOfVersions(fixture)
      const ranges = [{ start_version: 1, end_version: 3 }]
      equal((await fixture.ok('BatchDeleteTableVersions', id, { body: { ranges } }))['deleted_count'], 2)
      deepEqual(await numbersOf(fixture, id), [4, 3])
      equal((await fixture.call('CountTableRows', id, { body: {} })).json, 6)
    },
    'rejects empty and excessive ranges': async ({ rejects, sampleTable }) => {
      const wrong = [
        { start_version: 'a', end_version: 2 },
        { start_version: 1 },
        { start_version: 0, end_version: 2_000_000 },
      ]
      for (const range of wrong) {
        await rejects('BatchDeleteTableVersions', sampleTable, { ranges: [range] }, 'InvalidInput')
      }
    },
  },
  RestoreTable: {
    'restores an old version as the newest': async (fixture) => {
      const id = await fixture.table(3)
      await fixture.ok('InsertIntoTable', id, { body: rows(2) })
      await fixture.ok('RestoreTable', id, { body: { version: 1 } })
      equal((await fixture.call('CountTableRows', id, { body: {} })).json, 3)
      assert((await numbersOf(fixture, id)).length >= 2)
    },
    'rejects a missing version': async ({ rejects, sampleTable }) => {
      await rejects('RestoreTable', sampleTable, { version: 99 }, 'TableVersionNotFound')
      await rejects('RestoreTable', sampleTable, { version: -1 }, 'InvalidInput')
    },
  },
  DescribeTransaction: {
    'describes a successful transaction': async ({ ok, table }) => {
      // The transaction that created the table: the id of the table and the version.
      const { status } = await ok('DescribeTransaction', [...(await table()), '1'], { body: {} })
      match(String(status), /^succeeded$/i)
    },
    'rejects a missing transaction': async ({ rejects, sampleTable }) => {
      await rejects('DescribeTransaction', [...sampleTable, '99'], {}, 'TransactionNotFound')
    },
  },
})
