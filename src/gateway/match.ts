import { invalidInput } from '../interface/errors.ts'
import { buildTarget, parseTarget } from '../interface/target.ts'
import type { Matched, Received } from './stages.ts'

/** How the upstream is spoken to: what goes in front of each path, and what joins the parts of an id there. */
export interface UpstreamDialect {
  readonly basePath: string
  readonly delimiter: string
}

/**
 * The second stage: finds the operation and the id by the operations table alone, and rebuilds from them the one
 * target that the upstream will see. Throws 400, 404 or 405 (InterfaceError).
 */
export function match(request: Received, upstream: UpstreamDialect): Matched {
  const meaning = parseTarget(request.method, request.target)
  if (request.hasBody && request.method === 'GET') {
    throw invalidInput(`a GET request for ${meaning.operation.name} has no body, but one was sent`)
  }
  return { ...request, meaning, upstreamTarget: upstream.basePath + buildTarget(meaning, upstream.delimiter) }
}
