import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { pythonOf, type PythonEnvironment } from './python-environments.ts'

const run = promisify(execFile)
const scenarioMs = 180_000

/** Steps of a scenario, in order. */
export interface ScenarioOutcome {
  readonly passed: readonly string[]
  /** Each with its error. */
  readonly failed: readonly string[]
}

/** Runs a scenario of this folder against a gateway. Rejects if the script itself fails. */
export async function runScenario(
  environment: PythonEnvironment,
  script: string,
  url: string,
  key: string,
): Promise<ScenarioOutcome> {
  const { stdout } = await run(pythonOf(environment), [scriptPath(script), url, key], {
    timeout: scenarioMs,
    // Python would leave compiled files beside the scripts.
    env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1', PYTHONWARNINGS: 'ignore' },
  })
  const lines = stdout.split('\n')
  const withPrefix = (prefix: string) =>
    lines.filter((line) => line.startsWith(prefix)).map((line) => line.slice(prefix.length))
  return { passed: withPrefix('ok '), failed: withPrefix('failed ') }
}

/** The path of a script of this folder. */
export function scriptPath(script: string): string {
  return fileURLToPath(new URL(script, import.meta.url))
}
