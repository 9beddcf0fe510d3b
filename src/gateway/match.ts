import { invalidInput } from '../interface/errors.ts'
import { buildTarget, parseTarget, type Target } from '../interface/target.ts'
import { matched, type Matched, type Received } from './stages.ts'
import type { Upstream } from './upstream/upstream.ts'
import type { Upstreams } from './upstream/upstreams.ts'

/**
 * The second stage: finds the operation and the id by the operations table alone, and the upstream by the id, and
 * rebuilds the one target that the upstream will see. Throws 400, 404 or 405 (InterfaceError).
 */
export function match(request: Received, upstreams: Upstreams): Matched {
  const meaning = parseTarget(request.method, request.target)
  if (request.hasBody && request.method === 'GET') {
    throw invalidInput(`a GET request for ${meaning.operation.name} has no body, but one was sent`)
  }
  const upstream = upstreams.of(meaning.id)
  return matched(request, { meaning, upstream, upstreamTarget: targetAt(upstream, meaning) })
}

/** The target as that upstream writes it. Throws InvalidInput (400) where its delimiter cannot write the id. */
export function targetAt({ basePath, delimiter }: Upstream, meaning: Target): string {
  return basePath + buildTarget(meaning, delimiter)
}
