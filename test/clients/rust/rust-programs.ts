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

/** Downloads the newest dependencies that fit, unless a lock file of this machine names others. Rejects if it fails. */
export async function fetchRustCrates(): Promise<void> {
  await run('cargo', ['fetch', '--quiet'], { cwd, timeout: fetchMs })
}

/** Builds the program in a file, and returns the path of the executable. */
export async function buildRustProgram(file: string): Promise<string> {
  const target = await temporaryFolder()
  const env = {
    ...process.env,
    DOCUMENTED_PROGRAM: file,
    // Dependencies are built once. Programs of different copies of the repository do not overwrite each other.
    CARGO_BUILD_BUILD_DIR: cachedClient('rust'),
    CARGO_TARGET_DIR: target,
  }
  await run('cargo', ['build', '--locked', '--offline', '--quiet'], { cwd, env, timeout: buildMs })
  return join(target, 'debug', 'documented')
}
