import { execFile } from 'node:child_process'
import { access, mkdir, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** Python packages of real clients, by the name of their environment. */
export const pythonEnvironments = {
  'lancedb-0.40.0': ['lancedb==0.40.0'],
  'lancedb-0.27.1': ['lancedb==0.27.1'],
  'lance-14.0.2': ['pylance==14.0.2', 'lance-namespace==0.13.0'],
} as const satisfies Readonly<Record<string, readonly string[]>>

export type PythonEnvironment = keyof typeof pythonEnvironments

/** Outside of the repository, so that clients are downloaded once for all its copies. */
const cacheFolder =
  process.env['CLIENTS_CACHE'] ??
  join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'catalog-gateway', 'clients')

const run = promisify(execFile)
const installMs = 240_000

/** The interpreter of an environment; it exists once the environment is installed. */
export function pythonOf(environment: PythonEnvironment): string {
  return join(cacheFolder, environment, 'bin', 'python')
}

/**
 * Installs an environment from the package registry unless it is in the cache. Returns why it cannot be installed,
 * undefined if it is there.
 */
export async function installPythonEnvironment(environment: PythonEnvironment): Promise<string | undefined> {
  if (await exists(pythonOf(environment))) return undefined
  const folder = join(cacheFolder, environment)
  // Its name says that it is incomplete: an interrupted installation is not used.
  const incomplete = `${folder}.incomplete`
  try {
    await mkdir(cacheFolder, { recursive: true })
    await rm(incomplete, { recursive: true, force: true })
    await run('python3', ['-m', 'venv', incomplete])
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--only-binary', ':all:']
    await run(join(incomplete, 'bin', 'python'), [...pip, ...pythonEnvironments[environment]], {
      timeout: installMs,
    })
    await rename(incomplete, folder)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message.trim() : String(error)
  }
}

async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  )
}
