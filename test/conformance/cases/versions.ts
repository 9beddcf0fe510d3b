import { deepEqual, equal, match, ok as assert } from 'node:assert/strict'
import { rows } from '../sample-rows.ts'
import { stageVersions } from '../staged-versions.ts'
import { cases, type World } from '../world.ts'

interface Version {
  readonly version: number
  readonly manifest_path: string
  readonly manifest_size?: number
}

/** Creates a table with four versions. */
async function tableOfVersions(world: World): Promise<readonly string[]> {
  const id = await world.table()
  for (let index = 0; index < 3; index += 1) await world.ok('InsertIntoTable', id, { body: rows(1) })
  return id
}

async function numbersOf({ ok }: World, id: readonly string[], query = {}): Promise<number[]> {
  const { versions } = await ok('ListTableVersions', id, { query: { descending: 'true', ...query } })
  return (versions as Version[]).map(({ version }) => version)
}

/** The operations on versions (interface sections 2.4, 5 and 7). */
export const versionCases = cases({
  ListTableVersions: {
    'newest first where told, each with the key of its manifest': async (world) => {
      const id = await tableOfVersions(world)
      const { versions } = await world.ok('ListTableVersions', id, { query: { descending: 'true' } })
      deepEqual(
        (versions as Version[]).map(({ version }) => version),
        [4, 3, 2, 1],
      )
      for (const { manifest_path: path } of versions as Version[]) match(path, /^[^/:]+\/[^:]*\.manifest$/)
    },
    'the newest alone, as clients ask for it': async (world) => {
      const id = await tableOfVersions(world)
      const query = { limit: '1', descending: 'true' }
      for (const parts of [{ body: 'null' }, { body: undefined }, { method: 'GET' }]) {
        const { versions } = await world.ok('ListTableVersions', id, { query, ...parts })
        deepEqual(
          (versions as Version[]).map(({ version }) => version),
          [4],
        )
      }
    },
    'pages hold every version once': async (world) => {
      const id = await tableOfVersions(world)
      for (const descending of ['true', 'false']) {
        const found: number[] = []
        let token: unknown = ''
        do {
          const query = { limit: '3', descending, page_token: String(token) }
          const page = await world.ok('ListTableVersions', id, { query })
          found.push(...(page['versions'] as Version[]).map(({ version }) => version))
          token = page['page_token'] ?? ''
        } while (token !== '')
        deepEqual(
          found.toSorted((one, other) => one - other),
          [1, 2, 3, 4],
        )
      }
    },
    'a branch that is not there is refused': ({ refused, standing }) =>
      refused('ListTableVersions', standing, { query: { branch: 'absent' } }, 'TableBranchNotFound'),
  },
  DescribeTableVersion: {
    'a version by its number, or the newest': async ({ ok, table }) => {
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
    'one that is not there is refused': async ({ refused, standing }) => {
      await refused('DescribeTableVersion', standing, { body: { version: 99 } }, 'TableVersionNotFound')
      await refused('DescribeTableVersion', standing, { body: { version: -1 } }, 'InvalidInput')
    },
  },
  CreateTableVersion: {
    'the next version is committed, and its manifest has its final name': async (world) => {
      const id = await world.table()
      const [staged] = await stageVersions(world, id)
      const { version } = await world.ok('CreateTableVersion', id, { body: staged })
      const { version: number, manifest_path: path, manifest_size: size } = version as Version
      deepEqual([number, size], [2, staged?.manifest_size])
      match(path, /\.manifest$/)
      equal((await world.call('CountTableRows', id, { body: {} })).json, 4)
    },
    'a replay of the same manifest is answered as before, another one is a conflict': async (world) => {
      const id = await world.table()
      const [first] = await stageVersions(world, id)
      const [second] = await stageVersions(world, id)
      const once = await world.ok('CreateTableVersion', id, { body: first })
      deepEqual((await world.ok('CreateTableVersion', id, { body: first }))['version'], once['version'])
      await world.refused('CreateTableVersion', id, { body: second }, 'ConcurrentModification')
      deepEqual(await numbersOf(world, id), [2, 1])
    },
    'of several at once one wins': async (world) => {
      const id = await world.table()
      const staged = []
      for (let index = 0; index < 4; index += 1) staged.push(...(await stageVersions(world, id)))
      const responses = await Promise.all(
        staged.map((body) => world.call('CreateTableVersion', id, { body })),
      )
      deepEqual(
        responses.map(({ status }) => status).toSorted((one, other) => one - other),
        [200, 409, 409, 409],
      )
    },
    'a manifest outside of the table, or that is not there, is refused': async (world) => {
      const id = await world.table()
      const { location } = await world.ok('DescribeTable', id)
      const key = String(location).replace(/^(file:)?\/+/, '')
      const name = `_versions/18446744073709551613.manifest-00000000-0000-4000-8000-000000000000`
      for (const manifest_path of [`${key}/${name}`, `${key}/../${name}`, name, 'etc/passwd', '']) {
        const body = { version: 2, manifest_path, naming_scheme: 'V2' }
        await world.refused('CreateTableVersion', id, { body }, 'InvalidInput', 'PermissionDenied')
      }
    },
  },
  BatchDeleteTableVersions: {
    'half-open ranges of versions are deleted': async (world) => {
      const id = await tableOfVersions(world)
      const ranges = [{ start_version: 1, end_version: 3 }]
      equal((await world.ok('BatchDeleteTableVersions', id, { body: { ranges } }))['deleted_count'], 2)
      deepEqual(await numbersOf(world, id), [4, 3])
      equal((await world.call('CountTableRows', id, { body: {} })).json, 6)
    },
    'ranges that are none, or too large, are refused': async ({ refused, standing }) => {
      const wrong = [
        { start_version: 'a', end_version: 2 },
        { start_version: 1 },
        { start_version: 0, end_version: 2_000_000 },
      ]
      for (const range of wrong) {
        await refused('BatchDeleteTableVersions', standing, { body: { ranges: [range] } }, 'InvalidInput')
      }
    },
  },
  RestoreTable: {
    'an old version becomes the newest': async (world) => {
      const id = await world.table(3)
      await world.ok('InsertIntoTable', id, { body: rows(2) })
      await world.ok('RestoreTable', id, { body: { version: 1 } })
      equal((await world.call('CountTableRows', id, { body: {} })).json, 3)
      assert((await numbersOf(world, id)).length >= 2)
    },
    'one that is not there is refused': async ({ refused, standing }) => {
      await refused('RestoreTable', standing, { body: { version: 99 } }, 'TableVersionNotFound')
      await refused('RestoreTable', standing, { body: { version: -1 } }, 'InvalidInput')
    },
  },
})
