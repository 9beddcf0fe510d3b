import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'
import type { PythonEnvironment } from './python-environments.ts'
import { scriptCommand } from './python-scripts.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** The environment with the REST adapter. */
export const adapterEnvironment: PythonEnvironment = 'lance-14.0.2'

/** The REST adapter of pylance, a catalog by others, that serves a new folder until the end of the test. */
export interface RestAdapter {
  readonly url: string
  readonly folder: string
  /** Kills it without warning. */
  kill(): Promise<void>
  /** Starts it again, on the same port and folder. */
  restart(): Promise<void>
}

export async function startRestAdapter(): Promise<RestAdapter> {
  const folder = await temporaryFolder()
  let running = await startProcess(folder)
  onTestFinished(() => running.stop())
  const { url } = running
  return {
    url,
    folder,
    kill: () => running.kill(),
    async restart() {
      running = await startProcess(folder, new URL(url).port)
    },
  }
}

async function startProcess(folder: string, ...port: string[]) {
  const [python, script] = scriptCommand(adapterEnvironment, 'rest_adapter.py')
  const adapter = spawn(python, [script, folder, ...port], { stdio: ['pipe', 'pipe', 'ignore'] })
  const ended = once(adapter, 'exit')
  const process = {
    async stop() {
      adapter.stdin.end()
      await ended
    },
    async kill() {
      adapter.kill('SIGKILL')
      await ended
    },
  }
  for await (const line of createInterface(adapter.stdout)) {
    const url = /^listening on (http:\S+)$/.exec(line)?.[1]
    if (url !== undefined) return { url, ...process }
  }
  throw new Error('the REST adapter did not start')
}
