import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, it } from 'vitest'
import { isThorough } from '../support/thorough.ts'
import { startWriter } from './appending-writers.ts'
import { auditedChanges } from './audited-changes.ts'
import { runCommand } from '../support/run-command.ts'
import { createLoadedTables, loadedNamespace, startCommitLoad, type CommitLoad } from './commit-load.ts'
import { childrenOf, isRunning } from './process-tree.ts'
import { startDev, type RunningDev } from './running-dev.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { eventually } from '../support/eventually.ts'

const commits = 1_000
const tables = ['first', 'second', 'third']

/** The commits that the writer with the catalog client has sent, and the responses. */
interface WriterLines {
  readonly sent: string[]
  readonly acknowledged: { readonly number: string; readonly version: number }[]
}

// The short run has outcomes-after-kills.test.ts; this test adds a catalog client that commits meanwhile.
const killed = 'the gateway is killed in the middle of commits, and nothing it acknowledged is lost'
it.runIf(isThorough)(
  killed,
  async () => {
    const dataFolder = await temporaryFolder()
    const dev = await startDev({ dataFolder })
    await dev.send('POST', `/v1/namespace/${loadedNamespace}/create`, {})
    await createLoadedTables(dev, tables)
    const { load, writer, killedAt, catalog } = await loadAndKill(dev)
    onTestFinished((context) => {
      if (context.task.result?.state === 'fail')
        console.error(`killed after ${killedAt} acknowledged commits`)
    })

    const again = await startDev({ dataFolder })
    onTestFinished(async () => void (await again.stop()))
    await eventually(async () => expect(await isRunning(catalog)).toBe(false))
    await expectAudited(again, load, writer)
    await expectData(again, load, writer)
    const changed = await again.send('POST', `/v1/namespace/${loadedNamespace}$after/create`, {})
    expect(changed.status).toBe(200)
    const { status, output } = await runCommand(['audit', 'verify', again.auditFolder])
    expect({ status, output }).toEqual({
      status: 0,
      output: expect.stringMatching(/^good: .* 0 changes without an outcome\n$/),
    })
  },
  90_000,
)

/** Kills the gateway, and the writer, during commits; returns the responses until then. */
async function loadAndKill(dev: RunningDev) {
  const owner = await dev.catalogClient()
  await owner.createTable('managed', [{ writer: -1, number: -1 }], [loadedNamespace])
  const options = { writer: 0, count: commits }
  const appending = await startWriter(dev, 'catalog', [loadedNamespace, 'managed'], options)
  const killedAt = Math.round(commits * (0.2 + 0.6 * Math.random()))
  appending.write('go\n')
  await appending.announced(/^(acknowledged) /m)
  const load = startCommitLoad(dev, tables, { commits, milestone: killedAt })
  await Promise.race([load.ended, load.reached])
  await pause(Math.random() * 10)
  expect(load.acknowledged.length).toBeGreaterThanOrEqual(killedAt)
  expect(load.acknowledged.length).toBeLessThan(commits)
  const [catalog] = await childrenOf(dev.program.pid)
  dev.program.signal('SIGKILL')
  for (const client of await load.ended) {
    // fetch throws it when the connection breaks; every commit before succeeded.
    if (client.status === 'rejected') expect(client.reason).toBeInstanceOf(TypeError)
  }
  appending.signal('SIGKILL')
  const { output } = await appending.ended
  const writer: WriterLines = {
    sent: [...output.matchAll(/^sent (\d+)$/gm)].map(([, number]) => String(number)),
    acknowledged: [...output.matchAll(/^acknowledged (\d+) version (\d+)$/gm)].map(([, number, version]) => ({
      number: String(number),
      version: Number(version),
    })),
  }
  return { load, writer, killedAt, catalog: Number(catalog) }
}

/** Acknowledged commits are audited as committed, and those in progress as unknown. */
async function expectAudited(dev: RunningDev, load: CommitLoad, writer: WriterLines): Promise<void> {
  const changes = await auditedChanges(dev.auditFolder)
  const results = new Map(changes.map(({ intent, outcome }) => [intent.request, outcome?.result]))
  for (const { object, item, request } of load.acknowledged) {
    expect({ object, item, result: results.get(request) }).toEqual({ object, item, result: 'committed' })
  }
  const versions = changes
    .filter(({ intent }) => intent.operation === 'CreateTableVersion')
    .filter(({ outcome }) => outcome?.result === 'committed')
    .map(({ outcome }) => outcome?.version)
  for (const { version } of writer.acknowledged) expect(versions).toContain(version)

  const open = changes.filter(({ outcome }) => outcome?.result !== 'committed')
  for (const { outcome } of open)
    expect(outcome).toMatchObject({ result: 'unknown', details: { reason: 'crash' } })
  // At most those in progress at once: two clients per table, and the writer.
  expect(open.length).toBeLessThanOrEqual(2 * tables.length + 1)
}

/** Acknowledged rows exist exactly once, and every existing row was sent. */
async function expectData(dev: RunningDev, load: CommitLoad, writer: WriterLines): Promise<void> {
  const client = await dev.remoteClient()
  const numbersIn = async (table: string): Promise<string[]> => {
    const rows = await (await client.openTable(table, [loadedNamespace])).query().select(['number']).toArray()
    return (rows as { number: number }[]).map(({ number }) => String(number))
  }
  const acknowledged = (object: string): string[] =>
    load.acknowledged.filter((commit) => commit.object === object).map(({ item }) => item)
  const { namespaces } = await client.listNamespaces([loadedNamespace], { limit: 10 * commits })
  for (const table of tables) {
    expectBetween(await numbersIn(table), acknowledged(table), ['-1', ...(load.sent.get(table) ?? [])])
    const object = `namespaces-of-${table}`
    const created = namespaces
      .filter((name) => name.startsWith(object))
      .map((name) => name.slice(object.length + 1))
    expectBetween(created, acknowledged(object), [...(load.sent.get(object) ?? [])])
  }
  const numbers = writer.acknowledged.map(({ number }) => number)
  expectBetween(await numbersIn('managed'), numbers, ['-1', ...writer.sent])
}

function expectBetween(found: readonly string[], least: readonly string[], most: readonly string[]): void {
  expect(new Set(found).size).toBe(found.length)
  expect(found).toEqual(expect.arrayContaining([...least]))
  expect(most).toEqual(expect.arrayContaining([...found]))
}
