import { LRUCache } from 'lru-cache'
import type { TemporaryCredentials } from './assume-role.ts'

export type IssueCredentials = (location: string) => Promise<TemporaryCredentials>

/** Each takes a few kilobytes. */
const maxCachedCredentials = 4096

/**
 * Shares concurrent requests. Renews after two thirds of the lifetime: clients renew a minute before expiry, and late
 * requests get time left. Failures are not cached.
 */
export function cacheCredentials(issue: IssueCredentials, seconds: number): IssueCredentials {
  const cache = new LRUCache<string, Promise<TemporaryCredentials>>({
    max: maxCachedCredentials,
    ttl: (seconds * 1000 * 2) / 3,
  })
  return (location) => {
    const cached = cache.get(location)
    if (cached !== undefined) return cached
    const issued = issue(location)
    cache.set(location, issued)
    issued.catch(() => {
      if (cache.peek(location) === issued) cache.delete(location)
    })
    return issued
  }
}
