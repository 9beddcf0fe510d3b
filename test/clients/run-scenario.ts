import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect } from 'vitest'

const run = promisify(execFile)
const scenarioMs = 180_000

/**
 * Runs a scenario against a gateway: a program that takes its URL and a key, and prints `ok NAME` or
 * `failed NAME: ERROR` for each step. It runs in `folder`, by default in that of this process. Resolves with the
 * names of the steps; rejects if one of them or the program itself fails.
 */
export async function runScenario(
  [program, ...options]: readonly [program: string, ...options: string[]],
  url: string,
  key: string,
  folder?: string,
): Promise<readonly string[]> {
  const { stdout } = await run(program, [...options, url, key], {
    cwd: folder,
    timeout: scenarioMs,
    // Python would leave compiled files beside the scripts.
    env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1', PYTHONWARNINGS: 'ignore' },
  })
  const lines = stdout.split('\n')
  const withPrefix = (prefix: string) =>
    lines.filter((line) => line.startsWith(prefix)).map((line) => line.slice(prefix.length))
  expect(withPrefix('failed ')).toEqual([])
  return withPrefix('ok ')
}
