import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Connection, Table } from '@lancedb/lancedb'
// The built-in fetch of Node 20 never settles if the server closes the connection at once.
import { fetch } from 'undici'
import { readAuditLog, type StoredRecord } from '../../audit/storage/read-audit-log.ts'
import { createKey } from '../../identity/api-keys/key-store.ts'
import { readPepper } from '../../identity/api-keys/pepper.ts'
import { generateReadings, readingsSchema, createReadingVector } from './demo-readings.ts'
import { devFiles } from './dev.ts'
import { importCatalog, type CatalogPackage } from '../common/catalog-package.ts'
import { runStep, CommandFailure } from '../common/command-failure.ts'
import { printLine, type Io } from '../common/io.ts'
import { programInvocation, quoteShellWord } from '../common/invocation.ts'

export interface Tour {
  readonly url: string
  readonly dataDir: string
  readonly apiKey?: string
  readonly rows: number
}

const namespace = ['demo']
const batchRows = 10_000
/** A gateway polls its key store every two seconds. */
const keyReloadTimeoutMs = 10_000

/** Drives a running `dev` stack step by step, and prints each step and its result. */
export async function runTour(tour: Tour, io: Io): Promise<void> {
  const key = tour.apiKey ?? (await readDevelopmentKey(tour.dataDir))
  const { connect } = await importClient()
  await waitUntilReachable(tour.url, key)
  const name = `readings_${Date.now().toString(36)}`
  const developer = await connect('db://any', { apiKey: key, hostOverride: tour.url })

  printStep(io, 1, 'Create the namespace "demo"', 'POST /v1/namespace/demo/create')
  await developer.createNamespace(namespace, { mode: 'exist_ok' })
  printLine(io, '   created, or there already')

  printStep(
    io,
    2,
    `Stream ${tour.rows} rows with vectors into demo.${name}`,
    'POST .../create and .../insert, Arrow streams',
  )
  const table = await streamRows(developer, name, tour.rows, io)

  printStep(io, 3, 'Query it', 'POST .../count_rows and .../query')
  await query(table, io)

  printStep(io, 4, 'Be denied', 'the principal "demo-analyst" may read this namespace, and nothing else')
  await showDenial(tour, name, io)

  printStep(
    io,
    5,
    'Commit with the gateway in front of the external manifest store',
    'POST .../version/create',
  )
  const managed = `managed_${name}`
  await commitVersions(tour.url, key, managed, io)

  const audit = join(tour.dataDir, devFiles.audit)
  printStep(io, 6, `Audit records of demo.${managed}`, audit)
  await showAudit(audit, managed, io)
  printLine(io, `\nDone. Verify the audit log: ${programInvocation()} audit verify ${quoteShellWord(audit)}`)
}

async function importClient(): ReturnType<CatalogPackage['importClient']> {
  const { importClient } = await importCatalog()
  return await importClient()
}

async function readDevelopmentKey(dataDir: string): Promise<string> {
  const file = join(dataDir, devFiles.key)
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch (error) {
    throw new CommandFailure(
      `${file} not found; start the stack first (npm start), or pass --data-dir and --api-key`,
      { cause: error },
    )
  }
}

async function waitUntilReachable(url: string, key: string): Promise<void> {
  await runStep(`the tour cannot start; is the stack running (npm start) at ${url}?`, async () => {
    const response = await fetch(`${url}/v1/namespace/$/list`, { headers: { 'x-api-key': key } })
    if (!response.ok) throw new Error(`status ${response.status}: ${await response.text()}`)
  })
}

async function streamRows(client: Connection, name: string, rows: number, io: Io): Promise<Table> {
  const startedAt = performance.now()
  const table = await client.createEmptyTable(name, readingsSchema, namespace)
  for (let first = 0; first < rows; first += batchRows) {
    await table.add(generateReadings(first, Math.min(batchRows, rows - first)))
    printProgress(io, Math.min(first + batchRows, rows), rows)
  }
  const seconds = (performance.now() - startedAt) / 1000
  printLine(
    io,
    `   ${rows} rows in ${seconds.toFixed(1)} s; the table is at version ${await table.version()}`,
  )
  return table
}

async function query(table: Table, io: Io): Promise<void> {
  printLine(io, `   rows with sensor = 7: ${await table.countRows('sensor = 7')}`)
  printLine(io, '   nearest to the vector of reading 4242:')
  const nearest = table
    .query()
    .nearestTo([...createReadingVector(4242)])
    .limit(3)
    .select(['id', 'sensor', '_distance'])
  for (const { id, sensor, _distance } of await nearest.toArray()) {
    printLine(io, `     id ${id}, sensor ${sensor}, distance ${Number(_distance).toFixed(4)}`)
  }
}

async function showDenial(tour: Tour, name: string, io: Io): Promise<void> {
  const pepper = await readPepper(join(tour.dataDir, devFiles.pepper))
  const { text } = await createKey(join(tour.dataDir, devFiles.store), pepper, {
    principal: 'demo-analyst',
    groups: ['analysts'],
    description: 'made by the demo',
  })
  const call = (action: string): Promise<Response> =>
    fetch(`${tour.url}/v1/table/demo$${name}/${action}`, { method: 'POST', headers: { 'x-api-key': text } })
  const deadline = Date.now() + keyReloadTimeoutMs
  let allowed = await call('count_rows')
  while (allowed.status === 401 && Date.now() < deadline) {
    await sleep(250)
    allowed = await call('count_rows')
  }
  const denied = await call('drop')
  printLine(io, `   count_rows: ${allowed.status} ${(await allowed.text()).trim()}`)
  printLine(io, `   drop:       ${denied.status} ${(await denied.text()).trim()}`)
  if (allowed.status !== 200 || denied.status !== 403) {
    throw new CommandFailure('expected 200 and 403; does `dev` run with its default policies?')
  }
}

/** This client writes data and manifests itself and requests each version; the catalog decides. */
async function commitVersions(url: string, key: string, name: string, io: Io): Promise<void> {
  const { connectNamespace } = await importClient()
  const client = await connectNamespace('rest', { uri: url, headers: { 'x-api-key': key } })
  const table = await client.createTable(name, generateReadings(0, 100), namespace)
  await table.add(generateReadings(100, 100))
  printLine(
    io,
    `   demo.${name}: ${await table.countRows()} rows in versions 1 and 2, each committed through the gateway`,
  )
}

async function showAudit(folder: string, table: string, io: Io): Promise<void> {
  const shown = new Map<string, StoredRecord>()
  for await (const record of readAuditLog(folder)) {
    if (record.kind === 'intent' && record.id.at(-1) === table) {
      const { principal, rule, operation, details } = record
      shown.set(`${record.chain} ${record.seq}`, record)
      printLine(
        io,
        `   ${record.time}  #${record.seq} intent   ${operation} by ${principal.name}, allowed by ${rule.policy}/${rule.rule}`,
      )
      if (details !== undefined) printLine(io, `       ${JSON.stringify(details)}`)
    } else if (record.kind === 'outcome' && shown.has(`${record.chain} ${record.intentSeq}`)) {
      const version = record.version === undefined ? '' : `, version ${record.version}`
      printLine(
        io,
        `   ${record.time}  #${record.seq} outcome  of #${record.intentSeq}: ${record.result}${version}`,
      )
      printLine(io, `       hash ${record.hash}`)
    }
  }
}

function printStep(io: Io, step: number, title: string, details: string): void {
  printLine(io, `\n${step}. ${title}\n   (${details})`)
}

function printProgress({ stdout }: Io, done: number, all: number): void {
  if (!stdout.isTTY) return
  const width = 30
  const filled = Math.round((done / all) * width)
  stdout.write(
    `\r   [${'#'.repeat(filled)}${'.'.repeat(width - filled)}] ${done} of ${all}${done === all ? '\n' : ''}`,
  )
}
