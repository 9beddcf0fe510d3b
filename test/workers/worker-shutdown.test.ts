import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, it } from 'vitest'
import { runProgram } from '../e2e/built-program.ts'
import { isRunning } from '../e2e/process-tree.ts'
import { respondWith, startRecordingUpstream } from '../gateway/support/recording-upstream.ts'
import { createDeferred } from '../gateway/support/waiting.ts'
import { isThorough } from '../support/thorough.ts'
import { startTwoWorkers, workerFiles } from './running-workers.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { eventually } from '../support/eventually.ts'

async function upstreamOfTest() {
  const upstream = await startRecordingUpstream()
  onTestFinished(() => upstream.close())
  return upstream
}

const killed = 'workers of a killed primary process respond to pending requests and exit'
it.runIf(isThorough)(killed, async () => {
  const upstream = await upstreamOfTest()
  const gateway = await startTwoWorkers(await temporaryFolder(), upstream.url)
  const client = gateway.client()
  onTestFinished(() => client.close())
  const workers = await gateway.workers()
  expect(workers).toHaveLength(2)
  const [arrived, ended] = [createDeferred(), createDeferred()]
  upstream.answering = async (arrival, response, request) => {
    arrived.resolve(undefined)
    await ended.promise
    await respondWith(200, {})(arrival, response, request)
  }
  const response = client.post('/v1/namespace/last/create')
  await arrived.promise
  gateway.program.signal('SIGKILL')
  await eventually(async () => expect(await isRunning(gateway.program.pid)).toBe(false))
  ended.resolve(undefined)
  expect((await response).status).toBe(200)
  for (const worker of workers) await eventually(async () => expect(await isRunning(worker)).toBe(false))
})

it('an error that only a worker detects is reported once and ends the program', async () => {
  const folder = await temporaryFolder()
  const { file } = await workerFiles(folder, 'http://127.0.0.1:9', { workers: 2 })
  await writeFile(join(folder, 'policies', 'policies.yaml'), 'kind: Nothing\n')
  const { status, output, messages } = await runProgram(['serve', '--config', file])
  expect({ status, output }).toEqual({ status: 1, output: '' })
  expect(messages).toMatch(/^the gateway cannot start:\n {2}.*policies\.yaml:1/)
  expect(messages.match(/cannot start/g)).toHaveLength(1)
})

it.runIf(isThorough)('a worker that cannot start stops those that already serve', async () => {
  const folder = await temporaryFolder()
  const { file } = await workerFiles(folder, 'http://127.0.0.1:9', { workers: 3 })
  await mkdir(join(folder, 'audit'))
  await writeFile(join(folder, 'audit', 'worker-2'), 'no folder\n')
  const { status, output, messages } = await runProgram(['serve', '--config', file])
  expect({ status, output }).toEqual({ status: 1, output: '' })
  expect(messages).toMatch(/^the gateway cannot start:\n {2}.*worker-2/m)
  expect(messages.match(/cannot start/g)).toHaveLength(1)
  // It has shut down: the lock of its log is released.
  expect((await readdir(join(folder, 'audit'))).filter((name) => name.endsWith('.lock'))).toEqual([])
})

it.runIf(isThorough)('Ctrl-C reaches every process at once and stops all of them gracefully', async () => {
  const upstream = await upstreamOfTest()
  const gateway = await startTwoWorkers(await temporaryFolder(), upstream.url)
  const workers = await gateway.workers()
  for (const pid of [...workers, gateway.program.pid]) process.kill(pid, 'SIGINT')
  expect(await gateway.program.ended).toMatchObject({ status: 0, messages: '' })
  for (const worker of workers) expect(await isRunning(worker)).toBe(false)
})

it.runIf(isThorough)('a second signal aborts active requests', async () => {
  const upstream = await upstreamOfTest()
  const gateway = await startTwoWorkers(await temporaryFolder(), upstream.url)
  const client = gateway.client()
  onTestFinished(() => client.close())
  const workers = await gateway.workers()
  const arrived = createDeferred()
  upstream.answering = () => arrived.resolve(undefined)
  const response = client.post('/v1/namespace/last/create').catch(() => 'cut off')
  await arrived.promise
  gateway.program.signal('SIGTERM')
  await eventually(async () => expect((await fetch(`${gateway.adminUrl}/readyz`)).status).toBe(503))
  gateway.program.signal('SIGTERM')
  expect(await gateway.program.ended).toMatchObject({ status: 1 })
  expect(await response).toBe('cut off')
  for (const worker of workers) await eventually(async () => expect(await isRunning(worker)).toBe(false))
})
