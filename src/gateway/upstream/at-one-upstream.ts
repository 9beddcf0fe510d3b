import { invalidInput } from '../../interface/errors.ts'
import { formatIdentifier, show } from '../../interface/identifiers.ts'
import { targetAt } from '../match.ts'
import { placed, type Consistent, type Placed } from '../stages.ts'
import { furtherNeeds } from '../needs.ts'
import type { Upstream } from './upstream.ts'
import type { Upstreams } from './upstreams.ts'

/**
 * The end of the check: every object that a request is about lies at the upstream that it goes to. The route of a
 * batch names no object, so its body decides where it goes. Throws InvalidInput (400) where objects lie at different
 * upstreams or cannot be written with the delimiter of theirs, and for a client that names another database than the
 * upstream has.
 */
export function atOneUpstream(request: Consistent, upstreams: Upstreams): Placed {
  const { restated } = request
  const further = furtherNeeds(request.decided)
  const meaning = restated ? { ...request.meaning, parameters: restated.parameters } : request.meaning
  const [first] = further
  const isBatch = meaning.operation.object === 'none' && first !== undefined
  const upstream = isBatch ? upstreams.of(first.id) : request.upstream
  for (const { id } of further) {
    if (upstreams.of(id) !== upstream) {
      throw invalidInput('the objects of the request lie in different catalogs; expected all in one')
    }
    formatIdentifier(id, upstream.delimiter)
  }
  assertDatabase(request.database, upstream)
  const isAsMatched = upstream === request.upstream && restated === undefined
  return placed(request, upstream, isAsMatched ? request.upstreamTarget : targetAt(upstream, meaning))
}

/** The name that was sent is not forwarded; who means another database must not change this one. */
function assertDatabase(named: string | undefined, { database }: Upstream): void {
  if (database === undefined || named === undefined || named === database) return
  throw invalidInput(`${show(named)} is not the database that is served here`)
}
