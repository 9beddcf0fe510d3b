import { spawn, spawnSync } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, it, onTestFinished } from 'vitest'
import { projectFolder } from '../../e2e/built-program.ts'
import { childrenOf, isRunning } from '../../e2e/process-tree.ts'
import { eventually } from '../../support/eventually.ts'
import { runCommand } from '../../support/run-command.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** `script` of util-linux runs a command in a terminal of its own. */
const hasScript = spawnSync('script', ['--version']).stdout?.includes('util-linux') ?? false
const inTerminal = it.skipIf(!hasScript)

/** Runs `dev` on free ports as the child of a terminal, until the end of the test. */
function startDev(dataFolder: string, options = '') {
  const main = join(projectFolder, 'dist', 'main.js')
  const command = `exec '${process.execPath}' '${main}' dev --port 0 --admin-port 0 --data-dir '${dataFolder}' ${options}`
  const terminal = spawn('script', ['-qec', command, '/dev/null'], { stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(() => void terminal.kill('SIGKILL'))
  return { terminal, lines: createInterface({ input: terminal.stdout }) }
}

inTerminal(
  'dev shows each request in a line for people in its terminal (skipped without script)',
  async () => {
    const key = 'key-of-a-developer'
    const { lines } = startDev(await temporaryFolder(), `--api-key ${key}`)
    for await (const line of lines) {
      const [, url] = /^listening on (\S+)/.exec(line) ?? []
      const [, request] = /^\d\d:\d\d:\d\d (\d{3} .*)/.exec(line) ?? []
      if (url !== undefined)
        void fetch(`${url}/v1/namespace/sales/create`, {
          method: 'POST',
          headers: { 'x-api-key': key, 'content-type': 'application/json' },
          body: '{}',
        })
      if (request === undefined) continue
      expect(request).toMatch(/^200 CreateNamespace sales by dev in \d+\.\d ms\s*$/)
      return
    }
    throw new Error('the terminal shows no request')
  },
)

inTerminal('dev shuts down gracefully when its terminal is closed (skipped without script)', async () => {
  const data = await temporaryFolder()
  const { terminal, lines } = startDev(data)
  for await (const line of lines) if (line.includes('Ctrl-C')) break
  const [dev] = await childrenOf(terminal.pid ?? 0)
  const [catalog] = await childrenOf(Number(dev))
  terminal.kill('SIGKILL')
  for (const pid of [dev, catalog])
    await eventually(async () => expect(await isRunning(Number(pid))).toBe(false))
  const audit = join(data, 'audit')
  expect((await readdir(audit)).filter((name) => name.endsWith('.lock'))).toEqual([])
  expect((await runCommand(['audit', 'verify', audit])).messages).not.toContain('unsealed')
})
