import { fileURLToPath } from 'node:url'
import { pythonOf, type PythonEnvironment } from './python-environments.ts'

/** The command that runs a script of this folder. */
export function scriptCommand(environment: PythonEnvironment, script: string): [string, string] {
  return [pythonOf(environment), fileURLToPath(new URL(script, import.meta.url))]
}
