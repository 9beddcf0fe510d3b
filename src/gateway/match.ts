import { LRUCache } from 'lru-cache'
import { assertPlaced } from '../interface/decisive-names.ts'
import { invalidInput } from '../interface/errors.ts'
import { assertSeparable } from '../interface/identifiers.ts'
import { buildTarget, parseTarget, type Target } from '../interface/target.ts'
import { matched, type Matched, type Received } from './stages.ts'
import type { Upstream } from './upstream/upstream.ts'
import type { Upstreams } from './upstream/upstreams.ts'

/** What a request is for, and where that lies: its method and target alone tell. */
type Aim = Pick<Matched, 'meaning' | 'upstream' | 'upstreamTarget'>

/** Finds the aim of a method and a target. Throws 400, 404 or 405 (InterfaceError). */
export type FindAim = (method: string, target: string) => Aim

/** Far more than are asked for at a time; what is longer is no usual one, and would take too much of memory. */
const maximumRemembered = 4_096
const maximumLength = 512

/**
 * The second stage: finds the operation and the id by the operations table alone, and the upstream by the id, and
 * rebuilds the one target that the upstream will see. Throws 400, 404 or 405 (InterfaceError).
 */
export function match(request: Received, findAim: FindAim): Matched {
  const aim = findAim(request.method, request.target)
  if (request.hasBody && request.method === 'GET') {
    throw invalidInput(`a GET request for ${aim.meaning.operation.name} has no body, but one was sent`)
  }
  for (const name of request.tableHeaders) assertPlaced(aim.meaning.operation, 'header', name)
  return matched(request, aim)
}

/** Reads each target anew. */
export function aimsAt(upstreams: Upstreams): FindAim {
  return (method, target) => {
    const meaning = parseTarget(method, target)
    const upstream = upstreams.of(meaning.id)
    return { meaning, upstream, upstreamTarget: targetAt(upstream, meaning) }
  }
}

/** Remembers the aims that were found: clients ask for the same objects again and again, and to read takes 2 us. */
export function rememberAims(find: FindAim): FindAim {
  const known = new Map(
    ['GET', 'POST'].map((method) => [method, new LRUCache<string, Aim>({ max: maximumRemembered })]),
  )
  return (method, target) => {
    const ofMethod = known.get(method)
    const before = ofMethod?.get(target)
    if (before !== undefined) return before
    if (ofMethod === undefined || target.length > maximumLength) return find(method, target)
    // The text is a part of a head, all of which stays in memory, secrets included, as long as the part does.
    const own = Buffer.from(target, 'latin1').toString('latin1')
    const aim = find(method, own)
    ofMethod.set(own, aim)
    return aim
  }
}

/** The target as that upstream writes it. Throws InvalidInput (400) if the upstream could take the id for another. */
export function targetAt({ basePath, delimiter, separators }: Upstream, meaning: Target): string {
  assertSeparable(meaning.id, separators)
  return basePath + buildTarget(meaning, delimiter)
}
