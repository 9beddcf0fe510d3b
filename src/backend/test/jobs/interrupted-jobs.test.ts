import { setTimeout } from 'node:timers/promises'
import { Int32, Table, Utf8, vectorFromArray } from 'apache-arrow'
import { expect, it, vi } from 'vitest'
import { everyInTheLongForm } from '../../../../test/support/thorough.ts'
import { streamOf } from '../engine/sample-tables.ts'
import { call, runningBackend, type Response } from '../support/running-backend.ts'
import { runningProcess } from '../support/running-process.ts'
import { waitForJob } from './wait-for-job.ts'
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts'

type Post = (target: string, body?: unknown) => Promise<Response>

const rows = 40_000
/** Slow enough to be interrupted, and easy to verify. */
const expression = "character_length(encode(sha512(repeat(name, 400)), 'hex'))"

/** Creates a table with a computed column without values. */
async function prepare(post: Post): Promise<void> {
  const ids = Array.from({ length: rows }, (_, index) => index)
  const table = new Table({
    id: vectorFromArray(ids, new Int32()),
    name: vectorFromArray(ids.map(String), new Utf8()),
  })
  await post('/v1/table/t/create', streamOf(table))
  await post('/v1/table/t/add_columns', { new_columns: [{ name: 'size', computed: expression }] })
}

/** Starts a backfill and waits until it runs. */
async function start(post: Post, url: string): Promise<Response> {
  const started = await post('/v1/table/t/backfill_column', { column: 'size' })
  await vi.waitFor(
    async () => {
      const metrics = await fetch(`${url}/metrics`)
      expect(await metrics.text()).toContain('\ncatalog_running_jobs 1\n')
    },
    { timeout: 20_000, interval: 5 },
  )
  return started
}

/** The rows and those of them with a value, and the versions of the table. */
async function inspect(post: Post) {
  const count = async (predicate: string) => (await post('/v1/table/t/count_rows', { predicate })).json
  const { versions } = (await post('/v1/table/t/version/list', {})).json as { versions: object[] }
  return { rows: await count('true'), computed: await count('size = 128'), versions: versions.length }
}

const after = { rows, computed: rows, versions: 3 }

const interruptions = (['SIGKILL', 'SIGTERM'] as const).flatMap((signal) =>
  everyInTheLongForm([100, 0, 300], 3).map((delayMs) => ({ signal, delayMs })),
)

it.each(interruptions)(
  'a job ended by $signal after $delayMs ms is completed after a restart',
  async ({ signal, delayMs }) => {
    const folder = await temporaryFolder()
    const { url, end } = await runningProcess(folder)
    const post: Post = async (target, body) => await call(url, 'POST', target, body)
    await prepare(post)
    const started = await start(post, url)
    await setTimeout(delayMs)
    await end(signal)
    const restarted = await runningBackend({}, folder)
    expect(await waitForJob(restarted.post, started)).toMatchObject({ job_state: 'DONE' })
    // A process that ends between the commit and the record of the end repeats the job.
    const { versions } = after
    const expected = { ...after, versions: expect.toBeOneOf([versions, versions + 1]) as number }
    expect(await inspect(restarted.post)).toEqual(expected)
  },
)

it('a cancelled job of the queue changes nothing, and one that runs is completed', async () => {
  const { post, url } = await runningBackend()
  await prepare(post)
  const running = await start(post, url())
  const queued = await post('/v1/table/t/backfill_column', { column: 'size' })
  for (const { json } of [queued, running])
    expect(await post('/v1/jobs/cancel', json)).toMatchObject({ status: 200 })
  expect(await waitForJob(post, queued)).toMatchObject({ job_state: 'CANCELLED' })
  expect(await waitForJob(post, running)).toMatchObject({ job_state: 'DONE' })
  expect(await inspect(post)).toEqual(after)
})
