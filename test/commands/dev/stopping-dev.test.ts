import { expect, it } from 'vitest'
import { startProgram } from '../../e2e/built-program.ts'
import { childrenOf, isRunning } from '../../e2e/process-tree.ts'
import { startDev, withoutProblems } from '../../e2e/running-dev.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

it.for(['SIGTERM', 'SIGINT'] as const)('%s stops the gateway and its catalog', async (signal) => {
  const dev = await startDev({ dataFolder: await temporaryFolder() })
  const [catalog] = await childrenOf(dev.program.pid)
  await dev.send('POST', '/v1/namespace/sales/create', {})
  dev.program.signal(signal)
  expect(await dev.program.ended).toMatchObject({ status: 0, messages: withoutProblems })
  expect(await isRunning(Number(catalog))).toBe(false)
})

it('Ctrl-C, which reaches all processes at once, stops both too', async () => {
  const locations = ['--port', '0', '--admin-port', '0', '--data-dir', await temporaryFolder()]
  const program = startProgram(['dev', ...locations], { ownGroup: true })
  await program.announced(/^admin on (http:\S+)$/m)
  const [catalog] = await childrenOf(program.pid)
  program.signal('SIGINT')
  expect(await program.ended).toMatchObject({ status: 0, messages: withoutProblems })
  expect(await isRunning(Number(catalog))).toBe(false)
})

it('without --api-key a key is created; key and data survive a restart', async () => {
  const locations = ['--port', '0', '--admin-port', '0', '--data-dir', await temporaryFolder()]
  const keys: string[] = []
  for (let run = 0; run < 2; run += 1) {
    const program = startProgram(['dev', ...locations])
    const url = await program.announced(/^listening on (http:\S+)$/m)
    const key = await program.announced(/^ {2}export KEY=(\S+)$/m)
    const headers = { 'x-api-key': key, 'content-type': 'application/json' }
    if (run === 0) await fetch(`${url}/v1/namespace/sales/create`, { method: 'POST', headers, body: '{}' })
    const response = await fetch(`${url}/v1/namespace/$/list`, { headers })
    expect(await response.json()).toEqual({ namespaces: ['sales'] })
    keys.push(key)
    program.signal('SIGTERM')
    await program.ended
  }
  expect(keys[1]).toBe(keys[0])
})

it('a hanging catalog does not block the shutdown of dev', async () => {
  const dev = await startDev({ dataFolder: await temporaryFolder() })
  const [catalog] = await childrenOf(dev.program.pid)
  process.kill(Number(catalog), 'SIGSTOP')
  dev.program.signal('SIGTERM')
  expect(await dev.program.ended).toMatchObject({ status: 0 })
  expect(await isRunning(Number(catalog))).toBe(false)
})

it('dev ends with its catalog, and says so', async () => {
  const dev = await startDev({ dataFolder: await temporaryFolder() })
  const [catalog] = await childrenOf(dev.program.pid)
  process.kill(Number(catalog), 'SIGKILL')
  const { status, messages } = await dev.program.ended
  expect({ status, last: messages.trimEnd().split('\n').at(-1) }).toEqual({
    status: 1,
    last: 'the catalog process exited (SIGKILL)',
  })
})
