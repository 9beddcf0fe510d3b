import { expect, onTestFinished, it } from 'vitest'
import { temporaryFolder } from '../e2e/built-program.ts'
import { startRecordingUpstream } from '../gateway/support/recording-upstream.ts'
import { eventually } from '../gateway/support/waiting.ts'
import { isThorough } from '../support/thorough.ts'
import { startTwoWorkers } from './running-workers.ts'

it.runIf(isThorough)('a worker that hangs is killed and replaced', async () => {
  const upstream = await startRecordingUpstream()
  onTestFinished(() => upstream.close())
  const settings = { timeouts: { workerTimeoutMs: 5_000 } }
  const gateway = await startTwoWorkers(await temporaryFolder(), upstream.url, settings)
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
  await eventually(async () => {
    expect(await gateway.metric('catalog_gateway_worker_restarts_total')).toMatchObject({
      'reason="unresponsive"': 1,
    })
    expect(await gateway.metric('catalog_gateway_workers_serving')).toEqual({ '': 2 })
  })
  expect((await fetch(`${gateway.adminUrl}/readyz`)).status).toBe(200)
  for (const client of clients) {
    await eventually(async () => expect((await client.post('/v1/namespace/again/create')).status).toBe(200))
  }
  gateway.program.signal('SIGTERM')
  expect((await gateway.program.ended).status).toBe(0)
})
