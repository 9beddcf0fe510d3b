import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { startProgram } from '../e2e/built-program.ts'
import { childrenOf, isRunning } from '../e2e/process-tree.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { eventually } from '../support/eventually.ts'
import { listenLocally } from '../support/local-server.ts'

async function startBackend(port = 0) {
  const file = join(await temporaryFolder(), 'catalog.yaml')
  await writeFile(file, `listen: { port: ${port} }\ndata: { folder: . }\nlog: { level: error }\n`)
  return startProgram(['backend', '--config', file])
}

it('the catalog process ends with its parent, even if that is killed', async () => {
  const program = await startBackend()
  const url = await program.announced(/^listening on (http:\S+)$/m)
  const children = await childrenOf(program.pid)
  program.signal('SIGKILL')
  await eventually(async () => {
    for (const child of children) expect(await isRunning(child)).toBe(false)
  })
  await expect(fetch(`${url}/livez`)).rejects.toThrow()
})

it('output and exit status of the catalog process are passed on', async () => {
  const port = await listenLocally(createServer())
  const { status, output, messages } = await (await startBackend(port)).ended
  expect({ status, output }).toEqual({ status: 1, output: '' })
  expect(messages).toMatch(/^the catalog cannot start:\n.*EADDRINUSE/)
})
