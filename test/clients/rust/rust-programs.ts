import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { cachedClient } from '../clients-cache.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const run = promisify(execFile)
const cwd = fileURLToPath(new URL('.', import.meta.url))
const fetchMs = 240_000
const buildMs = 1_200_000

/** A test that builds all dependencies takes minutes on a busy machine. */
export const rustTestMs = buildMs + 120_000

/** Downloads the newest dependencies that fit, unless a lock file of this machine names others. Rejects if that is not possible. */
export async function fetchRustCrates(): Promise<void> {
  await run('cargo', ['fetch', '--quiet'], { cwd, timeout: fetchMs })
}

/**
 * Builds a program, and returns its path. `documented` is the program in the file that the environment variable
 * `DOCUMENTED_PROGRAM` names.
 */
export async function buildRustProgram(
  program: 'scenario' | 'documented',
  environment: Readonly<Record<string, string>> = {},
): Promise<string> {
  const target = await temporaryFolder()
  const env = {
    ...process.env,
    ...environment,
    // Dependencies are built once. Programs of different copies of the repository do not overwrite each other.
    CARGO_BUILD_BUILD_DIR: cachedClient('rust'),
    CARGO_TARGET_DIR: target,
  }
  const options = ['--locked', '--offline', '--quiet', '--bin', program]
  await run('cargo', ['build', ...options], { cwd, env, timeout: buildMs })
  return join(target, 'debug', program)
}
