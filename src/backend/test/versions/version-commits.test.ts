import { randomUUID } from 'node:crypto'
import { copyFile, mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { responseOf, errorOf, backendWithTable } from '../support/running-backend.ts'
import { committer } from '../support/staged-manifests.ts'
import { isThorough } from '../../../../test/support/thorough.ts'

const races = isThorough ? 50 : 5

async function withTable() {
  const backend = await backendWithTable()
  const commit = (body: unknown) => backend.post('/v1/table/t/version/create', body)
  return { ...backend, commit }
}

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
})

it('lets exactly one of eight concurrent commits win, every time', async () => {
  const { commit, location, versionsOf } = await withTable()
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
  expect(await versionsOf('t')).toHaveLength(races + 1)
})

it('refuses a manifest name of another scheme than the previous ones', async () => {
  const { commit, location } = await withTable()
  const request = await (await committer(location)).stage()
  const manifest_path = join(location, '_versions', `2.manifest-${randomUUID()}`).slice(1)
  await copyFile(`/${request.manifest_path}`, `/${manifest_path}`)
  expect(await commit({ ...request, manifest_path, naming_scheme: 'V1' })).toEqual(errorOf('InvalidInput'))
})

it('keeps a bounded number of records for replays', async () => {
  const { commit, location, changeDatabase } = await withTable()
  const client = await committer(location)
  const requests = []
  for (let version = 2; version <= 110; version += 1) {
    const request = await client.stage()
    requests.push(request)
    await commit({ ...request, ...(version === 3 && { metadata: { author: 'ann' } }) })
  }
  expect((await commit(requests.at(-90))).status).toBe(200)
  const kept = [3, ...Array.from({ length: 101 }, (_, index) => index + 10)].map((version) => ({ version }))
  await changeDatabase(async (database) => {
    const records = database.selectFrom('table_versions').select('version').orderBy('version')
    expect(await records.execute()).toEqual(kept)
  })
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
