import { spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, it, onTestFinished } from 'vitest'
import { projectFolder } from '../../e2e/built-program.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** `script` of util-linux runs a command in a terminal of its own. */
const hasScript = spawnSync('script', ['--version']).stdout?.includes('util-linux') ?? false

it.skipIf(!hasScript)(
  'dev shows each request in a line for people in its terminal (skipped without script)',
  async () => {
    const data = await temporaryFolder()
    const main = join(projectFolder, 'dist', 'main.js')
    const key = 'key-of-a-developer'
    const command = `exec '${process.execPath}' '${main}' dev --port 0 --admin-port 0 --data-dir '${data}' --api-key ${key}`
    const terminal = spawn('script', ['-qec', command, '/dev/null'], { stdio: ['pipe', 'pipe', 'inherit'] })
    onTestFinished(() => void terminal.kill())
    for await (const line of createInterface({ input: terminal.stdout })) {
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
