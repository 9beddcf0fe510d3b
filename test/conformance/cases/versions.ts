import { deepEqual, equal, match, ok as assert } from 'node:assert/strict'
import { rows } from '../sample-rows.ts'
import { stageVersions } from '../staged-versions.ts'
import { cases, type Fixture } from '../fixture.ts'

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
  return (versions as Version[]).map(({ version }) => version)
}

export const versionCases = cases({
  ListTableVersions: {
    'lists versions newest first if requested, with manifest keys': async (fixture) => {
      const id = await tableOfVersions(fixture)
      const { versions } = await fixture.ok('ListTableVersions', id, { query: { descending: 'true' } })
      deepEqual(
        (versions as Version[]).map(({ version }) => version),
        [4, 3, 2, 1],
      )
      for (const { manifest_path: path } of versions as Version[]) match(path, /^[^/:]+\/[^:]*\.manifest$/)
    },
    'returns only the newest version, as clients request it': async (fixture) => {
      const id = await tableOfVersions(fixture)
      const query = { limit: '1', descending: 'true' }
      for (const parts of [{ body: 'null' }, { body: undefined }, { method: 'GET' }]) {
        const { versions } = await fixture.ok('ListTableVersions', id, { query, ...parts })
        deepEqual(
          (versions as Version[]).map(({ version }) => version),
          [4],
        )
      }
    },
    'lists every version once over all pages': async (fixture) => {
      const id = await tableOfVersions(fixture)
      for (const descending of ['true', 'false']) {
        const found: number[] = []
        let token: unknown = ''
        do {
          const query = { limit: '3', descending, page_token: String(token) }
          const page = await fixture.ok('ListTableVersions', id, { query })
          found.push(...(page['versions'] as Version[]).map(({ version }) => version))
          token = page['page_token'] ?? ''
        } while (token !== '')
        deepEqual(
          found.toSorted((one, other) => one - other),
          [1, 2, 3, 4],
        )
      }
    },
    'rejects a missing branch': ({ expectError, sampleTable }) =>
      expectError('ListTableVersions', sampleTable, { query: { branch: 'absent' } }, 'TableBranchNotFound'),
  },
  DescribeTableVersion: {
    'describes a version by number, and the newest': async ({ ok, table }) => {
      const id = await table()
      await ok('InsertIntoTable', id, { body: rows(1) })
      for (const [version, expected] of [
        [undefined, 2],
        [null, 2],
        [1, 1],
        [2, 2],
      ]) {
        const response = await ok('DescribeTableVersion', id, { body: { version } })
        equal((response['version'] as Version).version, expected)
      }
    },
    'rejects a missing version': async ({ expectError, sampleTable }) => {
      await expectError(
        'DescribeTableVersion',
        sampleTable,
        { body: { version: 99 } },
        'TableVersionNotFound',
      )
      await expectError('DescribeTableVersion', sampleTable, { body: { version: -1 } }, 'InvalidInput')
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
      await fixture.expectError('CreateTableVersion', id, { body: second }, 'ConcurrentModification')
      deepEqual(await numbersOf(fixture, id), [2, 1])
    },
    'lets one of several concurrent commits win': async (fixture) => {
      const id = await fixture.table()
      const staged = []
      for (let index = 0; index < 4; index += 1) staged.push(...(await stageVersions(fixture, id)))
      const responses = await Promise.all(
        staged.map((body) => fixture.call('CreateTableVersion', id, { body })),
      )
      deepEqual(
        responses.map(({ status }) => status).toSorted((one, other) => one - other),
        [200, 409, 409, 409],
      )
    },
    'rejects a missing manifest, and one outside of the table': async (fixture) => {
      const id = await fixture.table()
      const { location } = await fixture.ok('DescribeTable', id)
      const key = String(location).replace(/^(file:)?\/+/, '')
      const name = `_versions/18446744073709551613.manifest-00000000-0000-4000-8000-000000000000`
      for (const manifest_path of [`${key}/${name}`, `${key}/../${name}`, name, 'etc/passwd', '']) {
        const body = { version: 2, manifest_path, naming_scheme: 'V2' }
        await fixture.expectError('CreateTableVersion', id, { body }, 'InvalidInput', 'PermissionDenied')
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
    'rejects empty and excessive ranges': async ({ expectError, sampleTable }) => {
      const wrong = [
        { start_version: 'a', end_version: 2 },
        { start_version: 1 },
        { start_version: 0, end_version: 2_000_000 },
      ]
      for (const range of wrong) {
        await expectError(
          'BatchDeleteTableVersions',
          sampleTable,
          { body: { ranges: [range] } },
          'InvalidInput',
        )
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
    'rejects a missing version': async ({ expectError, sampleTable }) => {
      await expectError('RestoreTable', sampleTable, { body: { version: 99 } }, 'TableVersionNotFound')
      await expectError('RestoreTable', sampleTable, { body: { version: -1 } }, 'InvalidInput')
    },
  },
})
