import { randomUUID } from 'node:crypto'
import { copyFile, mkdir, readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { responseOf, errorOf, runningBackend } from '../support/running-backend.ts'
import { committer } from '../support/staged-manifests.ts'
import { isThorough } from '../../../../test/support/thorough.ts'

const races = isThorough ? 50 : 5

async function withTable() {
  const backend = await runningBackend()
  const { json } = await backend.post('/v1/table/t/create', streamOf(orders(3)))
  const { location } = json as { location: string }
  const commit = (body: unknown) => backend.post('/v1/table/t/version/create', body)
  return { ...backend, location, commit }
}

async function stagingFiles(location: string): Promise<string[]> {
  return (await readdir(join(location, '_versions'))).filter((name) => name.includes('.manifest-'))
}

it('commits, lists and describes a staged version consistently', async () => {
  const { post, commit, location } = await withTable()
  const request = await (await committer(location)).stage()
  const { status, json } = await commit({ ...request, metadata: { author: 'ann' } })
  expect(status).toBe(200)
  const { version } = json as { version: { manifest_path: string } }
  expect(version).toEqual({
    version: 2,
    manifest_path: request.manifest_path.replace(/-[0-9a-f]{8}-.*$/, ''),
    manifest_size: request.manifest_size,
    e_tag: expect.any(String),
    timestamp_millis: expect.any(Number),
    timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    metadata: { author: 'ann' },
  })
  expect(version.manifest_path.startsWith('/')).toBe(false)
  expect(await post('/v1/table/t/version/describe', { version: 2 })).toEqual(responseOf({ version }))
  expect(await post('/v1/table/t/version/describe', {})).toEqual(responseOf({ version }))
  expect(await post('/v1/table/t/version/list?descending=true&limit=1', null)).toEqual(
    responseOf({ versions: [version], page_token: '2' }),
  )
  expect(await post('/v1/table/t/count_rows', {})).toEqual(responseOf(4))
  expect(await stagingFiles(location)).toEqual([])
})

it('versions are listed page by page, in both directions', async () => {
  const { post, commit, location } = await withTable()
  const client = await committer(location)
  for (let version = 2; version <= 5; version += 1) await commit(await client.stage())
  const list = async (query: string) => {
    const { json } = await post(`/v1/table/t/version/list?${query}`)
    const { versions, page_token } = json as { versions: { version: number }[]; page_token?: string }
    return [versions.map(({ version }) => version), page_token]
  }
  expect(await list('')).toEqual([[1, 2, 3, 4, 5], undefined])
  expect(await list('descending=true')).toEqual([[5, 4, 3, 2, 1], undefined])
  expect(await list('limit=2')).toEqual([[1, 2], '2'])
  expect(await list('limit=3&page_token=2')).toEqual([[3, 4, 5], undefined])
  expect(await list('descending=true&limit=1')).toEqual([[5], '5'])
  expect(await list('descending=true&limit=2&page_token=5')).toEqual([[4, 3], '3'])
  for (const [start, first] of [
    ['limit=0', 1],
    ['descending=true&limit=0', 5],
  ] as const) {
    const [none, token] = await list(start)
    expect(none).toEqual([])
    expect(await list(`${start}&page_token=${String(token)}`)).toEqual([[], token])
    expect((await list(`${start.replace('=0', '=2')}&page_token=${String(token)}`))[0]?.[0]).toBe(first)
  }
  expect(await list('limit=0&page_token=5')).toEqual([[], undefined])
  expect(await post('/v1/table/t/version/list?page_token=x')).toEqual(errorOf('InvalidInput'))
  expect(await post('/v1/table/t/version/describe', { version: 9 })).toEqual(errorOf('TableVersionNotFound'))
  expect(await post('/v1/table/t/version/list?branch=dev')).toEqual(errorOf('TableBranchNotFound'))
})

it('lets exactly one of eight concurrent commits win, every time', async () => {
  const { commit, location, post } = await withTable()
  const clients = await Promise.all(Array.from({ length: 8 }, () => committer(location)))
  for (let round = 0; round < races; round += 1) {
    const requests = await Promise.all(clients.map((client) => client.stage()))
    const responses = await Promise.all(requests.map(commit))
    const winner = responses.findIndex(({ status }) => status === 200)
    const expected = responses.map((_, index) =>
      index === winner ? responseOf(expect.anything()) : errorOf('ConcurrentModification'),
    )
    expect(responses).toEqual(expected)
    // A replay of the winner gets the same success; a replay of a loser stays a conflict.
    const replays = await Promise.all(requests.map(commit))
    expect(replays).toEqual(expected)
    expect(replays[winner]?.json).toEqual(responses[winner]?.json)
  }
  const { versions } = (await post('/v1/table/t/version/list')).json as { versions: unknown[] }
  expect(versions).toHaveLength(races + 1)
})

it('refuses a gap, another naming scheme, and a staging manifest that is gone', async () => {
  const { commit, location } = await withTable()
  const client = await committer(location)
  const [next, later] = [await client.stage(), await client.stage()]
  expect(await commit(later)).toEqual(errorOf('ConcurrentModification'))
  const folder = join(location, '_versions')
  const other = join(folder, `2.manifest-${randomUUID()}`)
  await copyFile(`/${next.manifest_path}`, other)
  expect(await commit({ ...next, manifest_path: other.slice(1), naming_scheme: 'V1' })).toEqual(
    errorOf('InvalidInput'),
  )
  expect(await commit({ ...next, manifest_path: `${next.manifest_path.slice(0, -1)}x` })).toEqual(
    errorOf('InvalidInput'),
  )
  expect((await commit(next)).status).toBe(200)
})

it('keeps a bounded number of records for replays', async () => {
  const { commit, location, stop, openDatabase } = await withTable()
  const client = await committer(location)
  const requests = []
  for (let version = 2; version <= 110; version += 1) {
    const request = await client.stage()
    requests.push(request)
    await commit({ ...request, ...(version === 3 && { metadata: { author: 'ann' } }) })
  }
  expect((await commit(requests.at(-90))).status).toBe(200)
  await stop()
  const { database, close } = await openDatabase()
  const records = await database.selectFrom('table_versions').select('version').orderBy('version').execute()
  await close()
  expect(records.map(({ version }) => version)).toEqual([
    3,
    ...Array.from({ length: 101 }, (_, index) => index + 10),
  ])
})

it('adds data to a declared table with its first commit', async () => {
  const { post, commit, location } = await withTable()
  await commit(await (await committer(location)).stage())
  const declared = (await post('/v1/table/d/declare', {})).json as { location: string }
  const name = '18446744073709551614.manifest'
  const staging = join(declared.location, '_versions', `${name}-${randomUUID()}`)
  await mkdir(dirname(staging), { recursive: true })
  await copyFile(join(location, '_versions', name), staging)
  const request = { version: 1, manifest_path: staging.slice(1) }
  expect((await post('/v1/table/d/version/create', request)).status).toBe(200)
  expect(await post('/v1/table/d/describe', { check_declared: true })).toEqual(
    responseOf(expect.objectContaining({ is_only_declared: false })),
  )
})
