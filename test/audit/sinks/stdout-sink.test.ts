import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { linesInLog, quickly, shortRetry } from './log-with-sinks.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { eventually } from '../../support/eventually.ts'

const script = fileURLToPath(new URL('writing-process.ts', import.meta.url))

it('a stalled reader of standard output blocks nothing, and gets all records as complete lines', async () => {
  const folder = await temporaryFolder()
  const settings = [{ name: 'stdout', type: 'stdout', timeoutMs: 50, retry: shortRetry }]
  const input = [settings, quickly].map((each) => JSON.stringify(each))
  const child = spawn(process.execPath, ['--import', 'tsx', script, folder, ...input], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exited = once(child, 'exit')
  // Exceeds the capacity of the pipe and the buffer of this process.
  let durable = 0
  createInterface({ input: child.stderr }).on('line', () => (durable += 1))
  await eventually(() => expect(durable).toBeGreaterThan(120))
  const lines: string[] = []
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line))
  await eventually(() => expect(new Set(lines).size).toBeGreaterThan(240))
  child.kill('SIGKILL')
  await exited
  const written = await linesInLog(folder)
  const ended = lines.filter((line) => line.endsWith('"}'))
  expect(lines.length - ended.length).toBeLessThanOrEqual(1)
  expect([...new Set(ended)]).toEqual(written.slice(0, new Set(ended).size))
})
