import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { WriteStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { backendSettings } from './backend-settings.ts'

const program = fileURLToPath(new URL('catalog-process.ts', import.meta.url))

/** Starts a bundled catalog as a process, which is killed after the test at the latest; `stderr` gets its log. */
export async function runningProcess(
  folder: string,
  level = 'error',
  others: object = {},
  environment: NodeJS.ProcessEnv = {},
  stderr: 'inherit' | WriteStream = 'inherit',
) {
  const settings = backendSettings(folder, { log: { level }, ...others })
  const child = spawn(process.execPath, ['--import', 'tsx', program, JSON.stringify(settings)], {
    stdio: ['ignore', 'pipe', stderr],
    env: { ...process.env, ...environment },
  })
  const end = async (signal: 'SIGKILL' | 'SIGTERM') => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill(signal)
    await once(child, 'exit')
  }
  const kill = async () => await end('SIGKILL')
  onTestFinished(kill)
  const [url] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  return { url, kill, end }
}
