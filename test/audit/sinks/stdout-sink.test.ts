import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { linesInLog, quickly } from './log-with-sinks.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** The child loads its sources, then makes hundreds of durable writes. */
const slowly = { timeout: 100_000, interval: 20 }
const script = fileURLToPath(new URL('writing-process.ts', import.meta.url))

it(
  'a stalled reader of standard output blocks nothing, and gets all records as complete lines',
  { timeout: 240_000 },
  async () => {
    const folder = await temporaryFolder()
    const settings = [{ name: 'stdout', type: 'stdout' }]
    const input = [settings, { ...quickly, timeoutMs: 50 }].map((each) => JSON.stringify(each))
    const child = spawn(process.execPath, ['--import', 'tsx', script, folder, ...input], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const exited = once(child, 'exit')
    // Exceeds the capacity of the pipe and the buffer of this process.
    let durable = 0
    createInterface({ input: child.stderr }).on('line', () => (durable += 1))
    await expect.poll(() => durable, slowly).toBeGreaterThan(120)
    const lines: string[] = []
    createInterface({ input: child.stdout }).on('line', (line) => lines.push(line))
    await expect.poll(() => new Set(lines).size, slowly).toBeGreaterThan(240)
    child.kill('SIGKILL')
    await exited
    const written = await linesInLog(folder)
    const ended = lines.filter((line) => line.endsWith('"}'))
    expect(lines.length - ended.length).toBeLessThanOrEqual(1)
    expect([...new Set(ended)]).toEqual(written.slice(0, new Set(ended).size))
  },
)
