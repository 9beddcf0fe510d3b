import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { hasScript, startDevInTerminal } from '../e2e/terminal.ts'
import { runCommand } from '../support/run-command.ts'
import { childrenOf, isRunning } from '../e2e/process-tree.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { eventually } from '../support/eventually.ts'

it.skipIf(!hasScript)(
  'dev shuts down gracefully when its terminal is closed (skipped without script)',
  async () => {
    const data = await temporaryFolder()
    const { terminal, lines } = startDevInTerminal(data)
    for await (const line of lines) if (line.includes('Ctrl-C')) break
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
