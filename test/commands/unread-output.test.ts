import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { aRefusal, openLog } from '../audit/audit-fixtures.ts'
import { projectFolder, startProgram } from '../e2e/built-program.ts'
import { freePort } from '../support/free-port.ts'
import { servingProgram } from '../observability/serving-gateway.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { eventually } from '../support/eventually.ts'

/** Runs the program with a reader that closes the pipe before the first line, or after a few lines, or on a full device. */
async function endInFrontOf(reader: 'none' | 'head' | 'full', parameters: readonly string[]) {
  const child = spawn(process.execPath, [join(projectFolder, 'dist', 'main.js'), ...parameters], {
    stdio: ['ignore', reader === 'full' ? openSync('/dev/full', 'w') : 'pipe', 'pipe'],
  })
  let messages = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (messages += text))
  if (reader === 'none') child.stdout?.destroy()
  else child.stdout?.once('data', () => child.stdout?.destroy())
  const [status] = await once(child, 'close')
  return { status: status as number | null, messages }
}

it.for(['head', 'none'] as const)(
  'audit query ends quietly in front of a reader that closes the pipe: %s',
  async (reader) => {
    const { folder, log } = await openLog()
    for (let count = 0; count < 1_000; count += 1) log.recordRefusal(aRefusal(`request-${count}`))
    await log.close()
    for (const command of [['query'], ['query', '--json']]) {
      const [name = '', ...options] = command
      expect(await endInFrontOf(reader, ['audit', name, folder, ...options])).toEqual({
        status: 0,
        messages: '',
      })
    }
  },
)

it('the exit status reports the result even if the output is not read', async () => {
  expect(await endInFrontOf('none', ['--help'])).toEqual({ status: 0, messages: '' })
  const policies = join(projectFolder, 'policies', 'development')
  expect(await endInFrontOf('none', ['policy', 'lint', '--policies', policies])).toEqual({
    status: 0,
    messages: '',
  })
  const missing = ['policy', 'lint', '--policies', join(policies, 'none')]
  expect(await endInFrontOf('none', missing)).toMatchObject({ status: 1 })
})

it.skipIf(process.platform !== 'linux')('output that cannot be written is a failure', async () => {
  expect(await endInFrontOf('full', ['--help'])).toEqual({
    status: 1,
    messages: 'standard output cannot be written (ENOSPC)\n',
  })
})

it('a gateway continues if its log is no longer read, and counts lost lines', async () => {
  const gateway = await servingProgram({})
  gateway.program.stopReading()
  await eventually(async () => {
    expect((await gateway.post('/v1/namespace/a/create')).status).toBe(200)
    const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
    expect(metrics).toMatch(/^catalog_gateway_log_lines_dropped_total [1-9]/m)
  })
  gateway.program.signal('SIGTERM')
  expect(await gateway.program.ended).toMatchObject({ status: 0 })
})

it('a gateway starts even if its output is not read', async () => {
  const adminPort = String(await freePort())
  const locations = ['--port', '0', '--admin-port', adminPort, '--data-dir', await temporaryFolder()]
  const program = startProgram(['dev', ...locations])
  program.stopReading()
  const isReady = async () => expect((await fetch(`http://127.0.0.1:${adminPort}/readyz`)).status).toBe(200)
  await vi.waitFor(isReady, { timeout: 50_000, interval: 100 })
  program.signal('SIGTERM')
  expect(await program.ended).toMatchObject({ status: 0 })
})
