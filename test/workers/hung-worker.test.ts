import { expect, onTestFinished, it, vi } from 'vitest'
import { startRecordingUpstream } from '../gateway/support/recording-upstream.ts'
import { isThorough } from '../support/thorough.ts'
import { startTwoWorkers } from './running-workers.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { eventually } from '../support/eventually.ts'

it.runIf(isThorough)('a worker that hangs is killed and replaced', async () => {
  const upstream = await startRecordingUpstream()
  onTestFinished(() => upstream.close())
  const gateway = await startTwoWorkers(await temporaryFolder(), upstream.url)
  const clients = [gateway.client(), gateway.client()]
  onTestFinished(async () => {
    for (const client of clients) await client.close()
  })
  const hung = await gateway.writerOf(gateway.auditFolder)
  process.kill(hung, 'SIGSTOP')
  await eventually(async () => {
    const problems = await (await fetch(`${gateway.adminUrl}/readyz`)).json()
    expect(problems).toMatchObject({ problems: { gateway: 'worker 1: unresponsive' } })
  })
  expect((await fetch(`${gateway.adminUrl}/livez`)).status).toBe(200)
  const restarted = async (): Promise<void> => {
    expect(await gateway.metric('catalog_gateway_worker_restarts_total')).toMatchObject({
      'reason="unresponsive"': 1,
    })
    expect(await gateway.metric('catalog_gateway_workers_serving')).toEqual({ '': 2 })
  }
  await vi.waitFor(restarted, { timeout: 120_000, interval: 500 })
  expect((await fetch(`${gateway.adminUrl}/readyz`)).status).toBe(200)
  for (const client of clients) {
    await eventually(async () => expect((await client.post('/v1/namespace/again/create')).status).toBe(200))
  }
  gateway.program.signal('SIGTERM')
  expect((await gateway.program.ended).status).toBe(0)
})
