import { spawn, spawnSync } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, it } from 'vitest'
import { projectFolder } from '../e2e/built-program.ts'
import { runCommand } from '../support/run-command.ts'
import { childrenOf, isRunning } from '../e2e/process-tree.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { eventually } from '../support/eventually.ts'

/** `script` of util-linux runs a command in a terminal of its own. */
const hasScript = spawnSync('script', ['--version']).stdout?.includes('util-linux') ?? false

it.skipIf(!hasScript)(
  'dev shuts down gracefully when its terminal is closed (skipped without script)',
  async () => {
    const data = await temporaryFolder()
    const main = join(projectFolder, 'dist', 'main.js')
    const command = `exec '${process.execPath}' '${main}' dev --port 0 --admin-port 0 --data-dir '${data}'`
    const terminal = spawn('script', ['-qec', command, '/dev/null'], { stdio: ['pipe', 'pipe', 'inherit'] })
    onTestFinished(() => void terminal.kill('SIGKILL'))
    for await (const line of createInterface({ input: terminal.stdout })) if (line.includes('Ctrl-C')) break
    const [dev] = await childrenOf(terminal.pid ?? 0)
    const [catalog] = await childrenOf(Number(dev))
    terminal.kill('SIGKILL')
    for (const pid of [dev, catalog])
      await eventually(async () => expect(await isRunning(Number(pid))).toBe(false))
    const audit = join(data, 'audit')
    expect((await readdir(audit)).filter((name) => name.endsWith('.lock'))).toEqual([])
    expect((await runCommand(['audit', 'verify', audit])).messages).not.toContain('unsealed')
  },
)
