import { homedir } from 'node:os'
import { join } from 'node:path'

/** Where clients are installed and built: outside of the repository, so that all its copies share them. */
const cacheFolder =
  process.env['CLIENTS_CACHE'] ??
  join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'catalog-gateway', 'clients')

/** The folder of a client in the cache. It may not exist yet. */
export function cachedClient(name: string): string {
  return join(cacheFolder, name)
}
