import { access, mkdir, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'

/** Where clients are installed and built: outside of the repository, so that all its copies share them. */
const cacheFolder =
  process.env['CLIENTS_CACHE'] ??
  join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'catalog-gateway', 'clients')

/** The folder of a client in the cache. It may not exist yet. */
export function cachedClient(name: string): string {
  return join(cacheFolder, name)
}

/** Fills the folder of a client unless it is in the cache. */
export async function fillCache(name: string, fill: (folder: string) => Promise<unknown>): Promise<void> {
  const folder = cachedClient(name)
  if (await exists(folder)) return
  // Its name says that it is incomplete: an interrupted installation is not used.
  const incomplete = `${folder}.incomplete`
  await mkdir(dirname(folder), { recursive: true })
  await rm(incomplete, { recursive: true, force: true })
  await fill(incomplete)
  await rename(incomplete, folder)
}

async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  )
}
