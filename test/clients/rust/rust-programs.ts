import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cachedClient } from '../clients-cache.ts'
import { rustPrograms } from './rust-crates.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const run = promisify(execFile)
const buildMs = 2_400_000

/** A test that builds all dependencies takes minutes on a busy machine, and half an hour with LanceDB. */
export const rustTestMs = buildMs + 120_000

/**
 * Builds a program, and returns its path. `documented` is the program in the file that the environment variable
 * `DOCUMENTED_PROGRAM` names.
 */
export async function buildRustProgram(
  program: keyof typeof rustPrograms,
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
  await run('cargo', ['build', ...options], { cwd: rustPrograms[program], env, timeout: buildMs })
  return join(target, 'debug', program)
}
