import { fileURLToPath } from 'node:url'
import { pythonOf, type PythonEnvironment } from './python-environments.ts'

/** The command that runs a script of this folder. */
export function scriptCommand(
  environment: PythonEnvironment,
  script: string,
  ...options: readonly string[]
): [python: string, script: string, ...options: string[]] {
  return [pythonOf(environment), fileURLToPath(new URL(script, import.meta.url)), ...options]
}
