import { randomUUID } from 'node:crypto'
import { copyFile, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Int32, Table, tableFromIPC, tableToIPC, vectorFromArray } from 'apache-arrow'
import { expect, onTestFinished, it } from 'vitest'
import { orders, streamOf } from '../../src/backend/test/engine/sample-tables.ts'
import { committer } from '../../src/backend/test/support/staged-manifests.ts'
import type { StagedVersion } from '../conformance/staged-versions.ts'
import { recordsOf, ofKind } from '../audit/audit-fixtures.ts'
import { runCommand } from '../support/run-command.ts'
import { killableGateway, type KillableGateway } from './killable-gateway.ts'
import { eventually } from '../support/eventually.ts'

/** `THOROUGH=1 KILLS=200 npx vitest run test/e2e/outcomes-after-kills.test.ts` takes ten to twenty minutes. */
const kills = Number(process.env['KILLS'] ?? 8)
const insertedTables = ['first', 'second']
const arrow = { 'content-type': 'application/vnd.apache.arrow.stream' }

/** The clients' knowledge: the requests sent, those acknowledged, and the effect of each. */
interface Clients {
  readonly acknowledged: Set<string>
  /** The rows of inserts by request; row numbers are unique. */
  readonly rows: Map<string, { table: string; number: number }>
  /** The inode of the staging file by request: the manifest of the version is the same file. */
  readonly manifests: Map<string, bigint>
}

it(
  `after ${kills} kills the log says what became of every change`,
  async () => {
    const gateway = await killableGateway(1_500)
    const clients: Clients = { acknowledged: new Set(), rows: new Map(), manifests: new Map() }
    await gateway.start()
    const location = await createTables(gateway)
    const committers = [await versionCommitter(location), await versionCommitter(location)]
    for (let kill = 1; kill <= kills; kill += 1) {
      if (kill > 1) await gateway.start()
      const before = clients.acknowledged.size
      const load = Promise.allSettled([
        ...committers.map((commit) => commit(gateway, clients)),
        ...insertedTables.flatMap((table) => [
          insertRows(gateway, clients, table),
          insertRows(gateway, clients, table),
        ]),
      ])
      await eventually(() => expect(clients.acknowledged.size).toBeGreaterThan(before))
      await pause(Math.random() * 200)
      await gateway.kill(kill % 5 === 0)
      await load
    }
    await gateway.start()
    onTestFinished(() => gateway.kill(true))
    await eventually(async () =>
      expect(await gateway.metric('catalog_gateway_audit_in_doubt_changes')).toBe(0),
    )
    await expectTrue(gateway, clients, location)
    for (const command of [
      ['verify', gateway.auditFolder],
      ['compare', '--config', gateway.config],
    ])
      expect(await runCommand(['audit', ...command])).toMatchObject({ status: 0 })
  },
  60_000 + kills * 20_000,
)

async function createTables(gateway: KillableGateway): Promise<string> {
  const empty = tableToIPC(new Table({ number: vectorFromArray([-1], new Int32()) }), 'stream')
  for (const table of insertedTables) await gateway.send(`/v1/table/${table}/create`, empty, arrow)
  const created = await gateway.send('/v1/table/managed/create', Buffer.from(streamOf(orders(3))), arrow)
  return ((await created.json()) as { location: string }).location
}

async function untilKilled(send: () => Promise<Response>): Promise<void> {
  for (;;) {
    const response = await send().catch(() => undefined)
    if ((await response?.arrayBuffer().catch(() => undefined)) === undefined) return
  }
}

function insertRows(gateway: KillableGateway, { rows, acknowledged }: Clients, table: string): Promise<void> {
  return untilKilled(async () => {
    const number = rows.size
    const request = `insert-${number}`
    rows.set(request, { table, number })
    const row = tableToIPC(new Table({ number: vectorFromArray([number], new Int32()) }), 'stream')
    const response = await gateway.send(`/v1/table/${table}/insert`, row, {
      ...arrow,
      'x-request-id': request,
    })
    if (response.status === 200) acknowledged.add(request)
    return response
  })
}

/** A client that commits consecutive versions, in competition with the other. */
async function versionCommitter(location: string) {
  const client = await committer(location)
  let staged = await client.stage()
  return (gateway: KillableGateway, { manifests, acknowledged }: Clients) =>
    untilKilled(async () => {
      const { version } = await newestVersion(gateway)
      while (staged.version <= version) staged = await client.stage()
      const { inode, body } = await restaged(staged)
      const request = `commit-${manifests.size}`
      manifests.set(request, inode)
      const response = await gateway.send('/v1/table/managed/version/create', body, {
        'x-request-id': request,
      })
      if (response.status === 200) acknowledged.add(request)
      return response
    })
}

/** Stages the same manifest under a new name, with the members that a real client sends. */
async function restaged(staged: StagedVersion) {
  const source = `/${staged.manifest_path}`
  const copy = source.replace(/-[^-]+-[^-]+-[^-]+-[^-]+-[^-]+$/, `-${randomUUID()}`)
  await copyFile(source, copy)
  const { ino, mtimeNs, size } = await stat(copy, { bigint: true })
  const e_tag = [ino, mtimeNs / 1000n, size].map((part) => part.toString(16)).join('-')
  return { inode: ino, body: { ...staged, manifest_path: copy.slice(1), e_tag } }
}

async function newestVersion(gateway: KillableGateway): Promise<{ version: number }> {
  const response = await gateway.send('/v1/table/managed/version/describe', {})
  return ((await response.json()) as { version: { version: number } }).version
}

/** Compares the log with the storage. */
async function expectTrue(gateway: KillableGateway, clients: Clients, location: string): Promise<void> {
  const happened = await requestsThatHappened(gateway, clients, location)
  const records = await recordsOf(gateway.auditFolder)
  const intents = new Set(ofKind(records, 'intent').map(({ request }) => request))
  for (const request of happened) expect(intents).toContain(request)

  const results = new Map(
    ofKind(records, 'outcome').map(({ request, result }) => [request, result as string]),
  )
  for (const request of clients.acknowledged)
    expect([request, results.get(request)]).toEqual([request, 'committed'])
  for (const { request, result } of ofKind(records, 'resolved')) {
    expect([request, results.get(request)]).toEqual([request, 'unknown'])
    results.set(request, result)
  }
  const sent = [...clients.rows.keys(), ...clients.manifests.keys()]
  for (const request of sent.filter((request) => intents.has(request))) {
    const result = results.get(request) ?? 'no outcome'
    expect(['committed', 'rejected', 'failed', 'not_committed', 'taken', 'undecided']).toContain(result)
    if (result !== 'undecided')
      expect([request, result === 'committed']).toEqual([request, happened.has(request)])
  }
}

async function requestsThatHappened(
  gateway: KillableGateway,
  clients: Clients,
  location: string,
): Promise<Set<string>> {
  const folder = join(location, '_versions')
  const finals = (await readdir(folder)).filter((name) => name.endsWith('.manifest'))
  const inodes = new Set(
    await Promise.all(finals.map(async (name) => (await stat(join(folder, name), { bigint: true })).ino)),
  )
  const found = new Set<string>()
  for (const [request, inode] of clients.manifests) if (inodes.has(inode)) found.add(request)
  expect(finals).toHaveLength(found.size + 1)
  for (const table of insertedTables) {
    const response = await gateway.send(`/v1/table/${table}/query`, {
      columns: ['number'],
      k: 1_000_000,
      vector: [],
    })
    const numbers = tableFromIPC(Buffer.from(await response.arrayBuffer()))
      .getChild('number')
      ?.toArray() as Int32Array
    expect(new Set(numbers).size).toBe(numbers.length)
    for (const number of numbers) if (number >= 0) found.add(`insert-${number}`)
  }
  return found
}
