import { expect, onTestFinished, it } from 'vitest'
import { listLogFolders } from '../../src/audit/storage/log-folders.ts'
import { verifyAuditLogs } from '../../src/audit/verify/verify-audit-logs.ts'
import { auditedChanges } from '../e2e/audited-changes.ts'
import { startRecordingUpstream } from '../gateway/support/recording-upstream.ts'
import { isThorough } from '../support/thorough.ts'
import { startTwoWorkers, type WorkerClient } from './running-workers.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { eventually } from '../support/eventually.ts'

const kills = 6

it.runIf(isThorough)('workers killed under load lose no acknowledged change', async () => {
  const upstream = await startRecordingUpstream()
  onTestFinished(() => upstream.close())
  const gateway = await startTwoWorkers(await temporaryFolder(), upstream.url)
  let isOver = false
  const clients = Array.from({ length: 8 }, () => gateway.client())
  onTestFinished(async () => {
    isOver = true
    for (const client of clients) await client.close()
  })
  const acknowledged: string[] = []
  const running = clients.map((client, number) => commitUntil(client, number, acknowledged, () => isOver))
  for (let kill = 1; kill <= kills; kill += 1) {
    const reached = acknowledged.length + 50
    await eventually(() => expect(acknowledged.length).toBeGreaterThan(reached))
    const logs = await listLogFolders(gateway.auditFolder)
    process.kill(await gateway.writerOf(logs[kill % 2] ?? ''), 'SIGKILL')
    await eventually(async () => {
      const restarts = await gateway.metric('catalog_gateway_worker_restarts_total')
      expect(restarts).toMatchObject({ 'reason="exited"': kill })
      expect(await gateway.metric('catalog_gateway_workers_serving')).toEqual({ '': 2 })
    })
  }
  isOver = true
  await Promise.all(running)
  gateway.program.signal('SIGTERM')
  expect((await gateway.program.ended).status).toBe(0)

  const { logs } = await verifyAuditLogs(gateway.auditFolder)
  expect(logs.map(({ report }) => [report.problem, report.unresolved])).toEqual([
    [undefined, 0],
    [undefined, 0],
  ])
  const committed = new Set<string>()
  for (const log of await listLogFolders(gateway.auditFolder)) {
    for (const { intent, outcome } of await auditedChanges(log)) {
      if (outcome?.result === 'committed') committed.add(intent.id.join('$'))
    }
  }
  expect(acknowledged.filter((name) => !committed.has(name))).toEqual([])
})

/** Creates namespaces one after the other, and records those that were acknowledged. */
async function commitUntil(
  client: WorkerClient,
  number: number,
  acknowledged: string[],
  isOver: () => boolean,
): Promise<void> {
  for (let count = 0; !isOver(); count += 1) {
    const name = `of-${number}-${count}`
    const response = await client.post(`/v1/namespace/${name}/create`).catch(() => undefined)
    if (response?.status === 200) acknowledged.push(name)
  }
}
