import { invalidInput } from '../../interface/errors.ts'
import { formatIdentifier } from '../../interface/identifiers.ts'
import { targetAt } from '../match.ts'
import { placed, type Consistent, type Placed } from '../stages.ts'
import type { Upstreams } from './upstreams.ts'

/**
 * The end of the check: every object that a request is about lies at the upstream that it goes to. The route of a
 * batch names no object, so its body decides where it goes. Throws InvalidInput (400) where objects lie at different
 * upstreams, or cannot be written with the delimiter of theirs.
 */
export function atOneUpstream(request: Consistent, upstreams: Upstreams): Placed {
  const { inner, meaning } = request
  const [first] = inner
  if (first === undefined) return placed(request, request.upstream, request.upstreamTarget)
  const upstream = meaning.operation.object === 'none' ? upstreams.of(first.id) : request.upstream
  for (const { id } of inner) {
    if (upstreams.of(id) !== upstream) {
      throw invalidInput('the objects of the request lie in different catalogs; expected all in one')
    }
    formatIdentifier(id, upstream.delimiter)
  }
  const isElsewhere = upstream !== request.upstream
  return placed(request, upstream, isElsewhere ? targetAt(upstream, meaning) : request.upstreamTarget)
}
