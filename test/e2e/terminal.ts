import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'
import { projectFolder } from './built-program.ts'

/** `script` of util-linux runs a command in a terminal of its own. */
export const hasScript = spawnSync('script', ['--version']).stdout?.includes('util-linux') ?? false

export interface DevInTerminal {
  /** Its child is `dev`. */
  readonly terminal: ChildProcess
  /** What the terminal shows. */
  readonly lines: AsyncIterable<string>
}

/** Runs `dev` on free ports in a terminal, until the end of the test. */
export function startDevInTerminal(dataFolder: string, options = ''): DevInTerminal {
  const main = join(projectFolder, 'dist', 'main.js')
  const command = `exec '${process.execPath}' '${main}' dev --port 0 --admin-port 0 --data-dir '${dataFolder}' ${options}`
  const terminal = spawn('script', ['-qec', command, '/dev/null'], { stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(() => void terminal.kill('SIGKILL'))
  return { terminal, lines: createInterface({ input: terminal.stdout }) }
}
