import { randomUUID } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { listLogFolders } from '../../src/audit/storage/log-folders.ts'
import { verifyAuditLogs } from '../../src/audit/verify/verify-audit-logs.ts'
import { auditedChanges } from '../e2e/audited-changes.ts'
import { runCommand } from '../support/run-command.ts'
import { allowEverything } from '../gateway/support/open-gateway.ts'
import {
  respondWith,
  startRecordingUpstream,
  type RecordingUpstream,
} from '../gateway/support/recording-upstream.ts'
import { openRawConnection } from '../gateway/support/raw-connection.ts'
import { rawRequest } from '../gateway/support/raw-request.ts'
import { serveListings } from '../gateway/support/listing-upstream.ts'
import { createDeferred } from '../gateway/support/waiting.ts'
import { startTwoWorkers, type RunningWorkers, type WorkerClient } from './running-workers.ts'
import { makeTemporaryFolder, removeFolder } from '../support/temporary-folder.ts'
import { eventually } from '../support/eventually.ts'

const limits = {
  maxConnections: 40,
  rates: [{ name: 'drops', per: 'principal', operations: ['DropTable'], perSecond: 0.001, burst: 20 }],
}
const drop = '/v1/table/sales$orders/drop'
const commit = '/v1/table/sales$orders/version/create'
const staged = { version: 7, manifest_path: 'sales/orders/_versions/7.manifest-x' }

let folder: string
let upstream: RecordingUpstream
let gateway: RunningWorkers
let clients: readonly [WorkerClient, WorkerClient]

beforeAll(async () => {
  folder = await makeTemporaryFolder()
  upstream = await startRecordingUpstream()
  gateway = await startTwoWorkers(folder, upstream.url, { limits })
  clients = await connectToBoth()
})

afterAll(async () => {
  for (const client of clients) await client.close()
  await upstream.close()
  await removeFolder(folder)
})

/** Returns a client of each worker, in the order of their logs: the system chooses the worker of a connection. */
async function connectToBoth(): Promise<readonly [WorkerClient, WorkerClient]> {
  const clients = new Map<string, WorkerClient>()
  for (let round = 0; round < 50; round += 1) {
    // Many at once, as one worker may take all that come one after the other.
    const tries = Array.from({ length: 12 }, async () => {
      const client = gateway.client()
      const name = `tried-${randomUUID()}`
      // A worker under load may refuse it.
      const { status } = await client.post(`/v1/namespace/${name}/create`)
      const log = status === 200 ? await logOf(name) : undefined
      if (log === undefined || clients.has(log)) return client.close()
      clients.set(log, client)
    })
    await Promise.all(tries)
    const [first, second] = (await listLogFolders(gateway.auditFolder)).map((log) => clients.get(log))
    if (first !== undefined && second !== undefined) return [first, second]
  }
  throw new Error('one worker takes all connections')
}

/** Folder of the log that has a change of that namespace, as soon as it has been written. */
function logOf(namespace: string): Promise<string> {
  return eventually(async () => {
    for (const log of await listLogFolders(gateway.auditFolder)) {
      if ((await auditedChanges(log, 'CreateNamespace', [namespace])).length > 0) return log
    }
    throw new Error(`no log holds a change of ${namespace}`)
  })
}

async function countAdmittedDrops(client: WorkerClient, pauseMs: number): Promise<number> {
  let count = 0
  while ((await client.post(drop)).status === 200) {
    count += 1
    await pause(pauseMs)
  }
  return count
}

it('connections are distributed, each worker records its own changes, and metrics cover all workers', async () => {
  for (const client of clients) {
    for (const name of ['one', 'two']) {
      expect(await client.post(`/v1/namespace/${name}/create`)).toMatchObject({ status: 200 })
    }
  }
  const logs = await listLogFolders(gateway.auditFolder)
  expect(logs).toEqual([gateway.auditFolder, join(gateway.auditFolder, 'worker-2')])
  for (const log of logs) {
    for (const name of ['one', 'two']) {
      const changes = await auditedChanges(log, 'CreateNamespace', [name])
      expect(changes.map(({ outcome }) => outcome?.result)).toEqual(['committed'])
    }
  }
  for (const client of clients) await client.post('/v1/namespace/one/exists')
  const requested = { 'operation="NamespaceExists",status="200",decision="allow"': 2 }
  // A request is counted after its response is sent.
  await eventually(async () =>
    expect(await gateway.metric('catalog_gateway_requests_total')).toMatchObject(requested),
  )
  expect(await gateway.metric('catalog_gateway_workers_serving')).toEqual({ '': 2 })
  expect(await gateway.metric('catalog_gateway_build_info')).toEqual({ 'version="0.1.0"': 1 })
  expect(Object.keys(await gateway.metric('catalog_gateway_audit_head_sequence'))).toEqual([
    'worker="1"',
    'worker="2"',
  ])
  expect((await fetch(`${gateway.adminUrl}/readyz`)).status).toBe(200)
  expect((await fetch(`${gateway.adminUrl}/livez`)).status).toBe(200)
})

it('a version of another worker does not count as out-of-band', async () => {
  for (const [index, version] of [7, 8, 9, 10].entries()) {
    upstream.answering = respondWith(200, { version: { ...staged, version } })
    const body = { ...staged, version }
    expect((await clients[index % 2 === 0 ? 0 : 1].post(commit, body)).status).toBe(200)
  }
  upstream.answering = respondWith(200, {})
  expect(await gateway.metric('catalog_gateway_out_of_band_versions_total')).toEqual({ '': 0 })
})

it('a page token of one worker is valid for the other', async () => {
  upstream.answering = serveListings({ tables: { sales: ['a', 'b', 'c'] } })
  const list = '/v1/namespace/sales/table/list?limit=2'
  const first = await clients[0].get(list)
  expect(first).toMatchObject({ status: 200, body: { tables: ['a', 'b'] } })
  const { page_token: token = '' } = first.body as { page_token?: string }
  const second = await clients[1].get(`${list}&page_token=${encodeURIComponent(token)}`)
  expect(second).toMatchObject({ status: 200, body: { tables: ['c'] } })
  upstream.answering = respondWith(200, {})
})

it('a rate limit covers all workers', async () => {
  expect(await countAdmittedDrops(clients[0], 0)).toBe(20)
  // On its own it would admit 20 more in six seconds; synchronization takes a moment.
  expect(await countAdmittedDrops(clients[1], 300)).toBeLessThan(15)
})

it('a change of the policies reaches every worker', async () => {
  const exists = '/v1/table/sales$orders/exists'
  const statuses = () => Promise.all(clients.map(async (client) => (await client.post(exists)).status))
  expect(await statuses()).toEqual([200, 200])
  await gateway.setPolicies([{ ...allowEverything, rules: [] }])
  await eventually(async () => expect(await statuses()).toEqual([403, 403]))
  await gateway.setPolicies([allowEverything])
  await eventually(async () => expect(await statuses()).toEqual([200, 200]))
})

it('a killed worker does not affect the others, and its successor continues its log', async () => {
  const counted = (await gateway.metric('catalog_gateway_audit_records_total'))[''] ?? 0
  const arrived = createDeferred()
  upstream.answering = () => arrived.resolve(undefined)
  const lost = clients[1].post('/v1/namespace/lost/create').catch(() => 'lost')
  await arrived.promise
  upstream.answering = respondWith(200, {})
  const log = await logOf('lost')
  const killed = await gateway.writerOf(log)
  process.kill(killed, 'SIGKILL')
  expect(await lost).toBe('lost')
  expect((await clients[0].post('/v1/namespace/kept/create')).status).toBe(200)

  // Metrics query all workers; polling the lock of the log is cheaper.
  await eventually(async () => expect(await gateway.writerOf(log)).not.toBe(killed))
  await eventually(async () => {
    const restarts = await gateway.metric('catalog_gateway_worker_restarts_total')
    expect(restarts).toMatchObject({ 'reason="exited"': 1 })
    expect(await gateway.metric('catalog_gateway_workers_serving')).toEqual({ '': 2 })
  })
  // Counters never decrease, so rates stay correct.
  const now = (await gateway.metric('catalog_gateway_audit_records_total'))[''] ?? 0
  expect(now).toBeGreaterThanOrEqual(counted)
  const [change] = await auditedChanges(log, 'CreateNamespace', ['lost'])
  expect(change?.outcome?.result).toBe('unknown')
  expect((await clients[1].post('/v1/namespace/again/create')).status).toBe(200)
})

it('connections beyond the limit of all workers replace idle ones', async () => {
  const held = Array.from({ length: 60 }, () => openRawConnection(gateway.url))
  for (const connection of held) connection.write(rawRequest(['GET /v1/table HTTP/1.1', 'host: g']))
  await eventually(() => {
    const open = held.filter((each) => !each.isClosed())
    for (const connection of open) expect(connection.received()).toMatch(/^HTTP\/1\.1 401 /)
    expect(open.length).toBeLessThanOrEqual(limits.maxConnections)
  })
  for (const { socket } of held) socket.destroy()
  await eventually(async () => {
    const late = openRawConnection(gateway.url)
    late.write(rawRequest(['GET /v1/table HTTP/1.1', 'host: g']))
    await eventually(() => expect(late.isClosed() || late.received() !== '').toBe(true))
    expect(late.received()).toMatch(/^HTTP\/1\.1 401 /)
  })
})

it('SIGTERM drains every worker, and the logs are complete', async () => {
  const workers = await gateway.workers()
  const arrived = createDeferred()
  let started = 0
  upstream.answering = async (arrival, response) => {
    started += 1
    if (started === clients.length) arrived.resolve(undefined)
    await arrived.promise
    await eventually(async () => expect((await fetch(`${gateway.adminUrl}/readyz`)).status).toBe(503))
    await respondWith(200, {})(arrival, response, undefined as never)
  }
  const last = clients.map((client) => client.post('/v1/namespace/last/create'))
  await arrived.promise
  gateway.program.signal('SIGTERM')
  expect((await Promise.all(last)).map(({ status }) => status)).toEqual([200, 200])
  expect(await gateway.program.ended).toMatchObject({ status: 0 })
  expect(await gateway.workers()).toEqual([])
  expect(workers).toHaveLength(2)

  const { logs, missingHeads } = await verifyAuditLogs(gateway.auditFolder)
  expect(logs.map(({ name, report }) => [name, report.ok, report.unresolved])).toEqual([
    ['', true, 0],
    ['worker-2', true, 0],
  ])
  expect(missingHeads).toEqual([])
  expect((await readdir(gateway.auditFolder)).filter((name) => name.endsWith('.lock'))).toEqual([])
})

it('the audit commands read the logs of all workers', async () => {
  const folder = gateway.auditFolder
  const publicKey = join(folder, 'seal-public-key.pem')
  const { logs } = await verifyAuditLogs(folder)
  const heads = logs.flatMap(({ report }) => ['--expect-head', report.head?.hash ?? ''])
  const verified = await runCommand(['audit', 'verify', folder, '--public-key', publicKey, ...heads])
  expect(verified).toMatchObject({
    status: 0,
    output: expect.stringMatching(
      /^good: \d+ records in 3 chains of 2 logs, 0 changes without an outcome\n$/,
    ),
  })
})
