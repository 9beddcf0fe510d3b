import { LRUCache } from 'lru-cache'
import type { TemporaryCredentials } from './assume-role.ts'

/** Answers temporary credentials for the table at a location. */
export type IssueCredentials = (location: string) => Promise<TemporaryCredentials>

/** Each takes a few kilobytes. */
const maxCachedCredentials = 4096

/**
 * Issues credentials of that many seconds once for all who ask for the same location at the same time and after, and
 * again when two thirds of their time are over: clients ask again a minute before the end, and those who ask late have
 * time left. What cannot be issued is not kept.
 */
export function cacheCredentials(issue: IssueCredentials, seconds: number): IssueCredentials {
  const retained = new LRUCache<string, Promise<TemporaryCredentials>>({
    max: maxCachedCredentials,
    ttl: (seconds * 1000 * 2) / 3,
  })
  return (location) => {
    const known = retained.get(location)
    if (known !== undefined) return known
    const issued = issue(location)
    retained.set(location, issued)
    issued.catch(() => {
      if (retained.peek(location) === issued) retained.delete(location)
    })
    return issued
  }
}
