import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { isThorough } from '../../../../test/support/thorough.ts'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { runningProcess } from '../support/running-process.ts'
import { committer } from '../support/staged-manifests.ts'
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts'

interface Responded {
  readonly status: number
  readonly json: unknown
}

/** Starts two catalogs as processes on one PostgreSQL and one data folder. */
async function twoReplicas() {
  const folder = await temporaryFolder()
  const replicas = await Promise.all([startReplica(folder), startReplica(folder)])
  return { folder, replicas, one: replicas[0], other: replicas[1] }
}

async function startReplica(folder: string) {
  const { url, kill } = await runningProcess(folder, 'silent')
  const post = async (target: string, body?: unknown): Promise<Responded> => {
    const sent = body instanceof Uint8Array ? body : JSON.stringify(body ?? {})
    const response = await fetch(`${url}/v1/${target}`, { method: 'POST', body: sent as string })
    const text = await response.text()
    return { status: response.status, json: text === '' ? undefined : (JSON.parse(text) as unknown) }
  }
  const tables = async () => ((await (await fetch(`${url}/v1/table`)).json()) as { tables: string[] }).tables
  return { post, tables, kill }
}

/** Returns the sorted statuses and the error codes. */
function outcomes(responses: readonly Responded[]): string[] {
  return responses
    .map(({ status, json }) =>
      status === 200 ? '200' : `${status} code ${(json as { code?: number } | undefined)?.code}`,
    )
    .toSorted()
}

it('keeps creations, renames and drops consistent between two replicas', { timeout: 300_000 }, async () => {
  const { replicas, one, other } = await twoReplicas()
  const both = (target: string, body?: unknown) =>
    Promise.all(replicas.flatMap(({ post }) => [post(target, body), post(target, body)]))
  const stream = streamOf(orders(50))
  for (let round = 0; round < 10; round += 1) {
    expect(outcomes(await both(`table/t${round}/create`, stream))).toEqual([
      '200',
      ...Array<string>(3).fill('409 code 5'),
    ])
    expect((await one.post(`table/t${round}/count_rows`)).json).toBe(50)
    expect((await other.post(`table/t${round}/count_rows`)).json).toBe(50)
    await one.post(`table/u${round}/declare`)
    expect(await other.tables()).toEqual([`t${round}`, `u${round}`])
    const renamed = await Promise.all([
      one.post(`table/t${round}/rename`, { new_table_name: 'same' }),
      other.post(`table/u${round}/rename`, { new_table_name: 'same' }),
    ])
    expect(outcomes(renamed)).toEqual(['200', '409 code 5'])
    expect((await one.tables()).toSorted()).toEqual(await other.tables())
    expect(outcomes(await both('table/same/drop'))).toEqual(['200', ...Array<string>(3).fill('404 code 4')])
    const last = round % 2 === 0 ? one : other
    for (const table of await last.tables()) expect((await last.post(`table/${table}/drop`)).status).toBe(200)
    expect(outcomes(await both('namespace/n/create'))).toEqual([
      '200',
      ...Array<string>(3).fill('409 code 2'),
    ])
    const mixed = await Promise.all([
      one.post('namespace/n/drop'),
      other.post('table/n$child/create', stream),
      other.post('namespace/n$below/create'),
    ])
    const isClosed = (await one.post('namespace/n/exists')).status === 404
    expect((await other.post('table/n$child/exists')).status).toBe(isClosed ? 404 : mixed[1].status)
    await one.post('namespace/n/drop', { behavior: 'Cascade', mode: 'Skip' })
    expect((await other.post('namespace/n/exists')).status).toBe(404)
  }
})

it('lets exactly one commit of a version win across replicas', { timeout: 300_000 }, async () => {
  const { replicas, one, other } = await twoReplicas()
  const { json } = await one.post('table/t/create', streamOf(orders(3)))
  const { location } = json as { location: string }
  const clients = await Promise.all(Array.from({ length: 4 }, () => committer(location)))
  for (let version = 2; version <= 21; version += 1) {
    const requests = await Promise.all(clients.map((client) => client.stage()))
    const send = () =>
      Promise.all(
        requests.map(async (request, index) => replicas[index % 2]?.post('table/t/version/create', request)),
      )
    const responses = (await send()).filter((response) => response !== undefined)
    expect(outcomes(responses)).toEqual(['200', ...Array<string>(3).fill('409 code 14')])
    for (const { post } of replicas) {
      expect((await post('table/t/version/describe')).json).toEqual({
        version: expect.objectContaining({ version }),
      })
    }
  }
  // Appends share the data lock, overwrites take it exclusively: none starves, none is lost.
  await one.post('table/a/create', streamOf(orders(0)))
  const appends = Array.from({ length: 20 }, async (_, index) =>
    (index % 2 === 0 ? one : other).post('table/a/insert', streamOf(orders(5))),
  )
  const overwrites = [one, other].map(({ post }) =>
    post('table/b/create?mode=overwrite', streamOf(orders(7))),
  )
  const responses = await Promise.all([...appends, ...overwrites])
  expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 200))
  expect((await other.post('table/a/count_rows')).json).toBe(100)
  expect((await one.post('table/b/count_rows')).json).toBe(7)
})

// Without turns of the replicas, the engine pauses twice as long after each lost commit: up to half a minute, as measured.
it('no write of a replica starves behind those of others', { timeout: 300_000 }, async () => {
  const { replicas, one } = await twoReplicas()
  await one.post('table/t/create', streamOf(orders(100)))
  const end = performance.now() + 10_000
  let longestMs = 0
  let inserts = 0
  const repeat = async (send: () => Promise<Responded>) => {
    for (let start = performance.now(); start < end; start = performance.now()) {
      expect(await send()).toMatchObject({ status: 200 })
      longestMs = Math.max(longestMs, performance.now() - start)
    }
  }
  await Promise.all(
    replicas.flatMap(({ post }) => [
      ...Array.from({ length: 4 }, () =>
        repeat(() => {
          inserts += 1
          return post('table/t/insert', streamOf(orders(1)))
        }),
      ),
      repeat(() => post('table/t/update', { predicate: 'id < 3', updates: [['name', "'x'"]] })),
      repeat(() => post('table/t/delete', { predicate: 'id = 1000' })),
    ]),
  )
  expect(longestMs).toBeLessThan(10_000)
  expect((await one.post('table/t/count_rows')).json).toBe(100 + inserts)
})

it.runIf(isThorough)(
  'a replica that is killed takes nothing with it, and one that starts takes nothing away',
  { timeout: 300_000 },
  async () => {
    const { folder, one, other } = await twoReplicas()
    const rows = 20_000
    const stream = streamOf(orders(rows))
    const create = (names: readonly string[], { post }: Awaited<ReturnType<typeof startReplica>>) =>
      Promise.all(
        names.map(async (name) => {
          const response = await post(`table/${name}/create`, stream).catch(() => undefined)
          return { name, status: response?.status }
        }),
      )
    const names = Array.from({ length: 12 }, (_, index) => `t${index}`)
    const cut = create(names, one)
    const whole = create(
      names.map((name) => `o${name}`),
      other,
    )
    await setTimeout(150)
    await one.kill()
    const responded = (await cut).filter(({ status }) => status === 200)
    // The names reserved by the killed replica are free, or their tables are complete.
    for (const { name } of responded) expect((await other.post(`table/${name}/count_rows`)).json).toBe(rows)
    for (const { status } of await create(names, other)) expect([200, 409]).toContain(status)
    for (const name of names) expect((await other.post(`table/${name}/count_rows`)).json).toBe(rows)
    expect((await whole).map(({ status }) => status)).toEqual(names.map(() => 200))

    const starting = new AbortController()
    const statuses: (number | undefined)[] = []
    const work = (async () => {
      for (let round = 0; !starting.signal.aborted; round += 1) {
        for (const { status } of await create([`w${round}`, `x${round}`], other)) statuses.push(status)
      }
    })()
    const third = await startReplica(folder)
    starting.abort()
    await work
    expect(statuses.filter((status) => status !== 200)).toEqual([])
    const tables = await third.tables()
    expect(tables).toHaveLength(24 + statuses.length)
    const described = await Promise.all(tables.map((table) => third.post(`table/${table}/describe`)))
    const locations = described.map(({ json }) => (json as { location: string }).location)
    const folders = (await readdir(join(folder, 'tables'))).filter((name) => name.endsWith('.lance'))
    expect(folders.map((name) => join(folder, 'tables', name)).toSorted()).toEqual(locations.toSorted())
  },
)

it('a job of a replica that is killed is completed by another one', { timeout: 300_000 }, async () => {
  const { one, other } = await twoReplicas()
  await one.post('table/t/create', streamOf(orders(3)))
  await one.post('table/t/add_columns', { new_columns: [{ name: 'double', computed: 'id * 2' }] })
  const { json } = await one.post('table/t/backfill_column', { column: 'double' })
  const { job_id } = json as { job_id: string }
  await one.kill()
  const describe = async () => (await other.post('jobs/describe', { job_id })).json
  await expect.poll(describe, { timeout: 60_000, interval: 200 }).toMatchObject({ job_id, job_state: 'DONE' })
  expect((await other.post('table/t/count_rows', { predicate: 'double = id * 2' })).json).toBe(3)
  expect((await other.post('jobs/list')).json).toMatchObject({ jobs: [{ job_id, state: 'DONE' }] })
})
