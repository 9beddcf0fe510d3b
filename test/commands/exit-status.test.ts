import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, it } from 'vitest'
import { runProgram, startProgram } from '../e2e/built-program.ts'
import { commandsWith } from '../e2e/process-tree.ts'
import { runCommand } from '../support/run-command.ts'
import { everyInTheLongForm, isThorough } from '../support/thorough.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { listenLocally } from '../support/local-server.ts'

/** Expects exit status 1 and a message for the user instead of a crash report. */
async function expectFailure(
  parameters: readonly string[],
  message: RegExp,
  runIt: typeof runProgram = runCommand,
): Promise<void> {
  const { status, output, messages } = await runIt(parameters)
  expect({ status, output }).toEqual({ status: 1, output: '' })
  expect(messages).toMatch(message)
  expect(messages).not.toMatch(/^ {4}at |Error: |node:internal/m)
}

it.for(['serve', 'backend', 'check'])('%s without its settings file', async (command) => {
  const file = join(await temporaryFolder(), 'settings.yaml')
  const runIt = command === 'backend' ? runProgram : runCommand
  await expectFailure([command, '--config', file], /settings\.yaml does not exist/, runIt)
})

it('keys: missing or invalid store', async () => {
  const store = join(await temporaryFolder(), 'keys.yaml')
  await expectFailure(['keys', 'list', '--store', store], /keys\.yaml does not exist/)
  await writeFile(store, 'keys: 7\n')
  await expectFailure(['keys', 'list', '--store', store], /the keys cannot be listed/)
})

it('dev: invalid data folder', async () => {
  const file = join(await temporaryFolder(), 'file')
  await writeFile(file, '')
  await expectFailure(['dev', '--data-dir', join(file, 'data')], /the data folder cannot be used/)
})

it.for(everyInTheLongForm(['--port', '--admin-port'], 2))(
  '%s in use, and no catalog is left behind',
  async (option) => {
    const taken = await listenLocally(createServer((socket) => socket.destroy()))
    const other = option === '--port' ? '--admin-port' : '--port'
    const folder = await temporaryFolder()
    const locations = [option, String(taken), other, '0', '--data-dir', folder]
    const { status, messages } = await runProgram(['dev', ...locations])
    expect(status).toBe(1)
    expect(messages).toMatch(
      new RegExp(
        `the gateway cannot start:\n.*address already in use 127.0.0.1:${taken}; stop the other program`,
      ),
    )
    expect(messages).not.toMatch(/^ {4}at /m)
    expect(await commandsWith(folder)).toEqual([])
  },
)

it.runIf(isThorough)('dev: data folder in use, and the first dev continues', async () => {
  const dataFolder = await temporaryFolder()
  const locations = ['--port', '0', '--admin-port', '0', '--data-dir', dataFolder]
  const first = startProgram(['dev', ...locations])
  onTestFinished(async () => {
    first.signal('SIGTERM')
    expect((await first.ended).status).toBe(0)
  })
  const adminUrl = await first.announced(/^admin on (http:\S+)$/m)
  const inUse = /does another process use the same data folder\?/
  await expectFailure(['dev', ...locations], inUse, runProgram)
  expect((await fetch(`${adminUrl}/readyz`)).status).toBe(200)
})
