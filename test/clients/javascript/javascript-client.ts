import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { promisify } from 'node:util'
import { cachedClient, fillCache } from '../clients-cache.ts'

/** The newest release; the version that this project depends on is installed with it. */
export const newestLancedb = 'lancedb-js-0.39.0'

const packages = ['@lancedb/lancedb@0.39.0', 'apache-arrow@18.1.0']
const run = promisify(execFile)
const installMs = 240_000

/** The folder in which Node finds the package. */
export function folderOfNewestLancedb(): string {
  return cachedClient(newestLancedb)
}

/** Installs it from the package registry unless it is in the cache. Rejects if that is not possible. */
export async function installNewestLancedb(): Promise<void> {
  await fillCache(newestLancedb, async (folder) => {
    await mkdir(folder)
    const npm = [
      'install',
      '--loglevel=error',
      '--no-fund',
      '--no-audit',
      '--ignore-scripts',
      '--prefix',
      folder,
    ]
    await run('npm', [...npm, ...packages], { timeout: installMs })
  })
}
