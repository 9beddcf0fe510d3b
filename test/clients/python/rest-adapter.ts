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
export async function startRestAdapter(): Promise<{ readonly url: string; readonly folder: string }> {
  const folder = await temporaryFolder()
  const [python, script] = scriptCommand(adapterEnvironment, 'rest_adapter.py')
  const adapter = spawn(python, [script, folder], { stdio: ['pipe', 'pipe', 'ignore'] })
  const ended = once(adapter, 'exit')
  onTestFinished(async () => {
    adapter.stdin.end()
    await ended
  })
  for await (const line of createInterface(adapter.stdout)) {
    const url = /^listening on (http:\S+)$/.exec(line)?.[1]
    if (url !== undefined) return { url, folder }
  }
  throw new Error('the REST adapter did not start')
}
