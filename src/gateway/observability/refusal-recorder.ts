import type { AuditLog, Details, RefusalEntry } from '../../audit/index.ts'
import type { CatalogError } from '../../catalog-api/index.ts'
import { AuthenticationError } from '../../identity/index.ts'
import { getAddressKey } from '../../lib/index.ts'
import { DeniedError } from '../authorization/decisions.ts'
import type { Trace } from '../trace.ts'

type RefusedRequest = Pick<
  Trace,
  'requestId' | 'method' | 'client' | 'peer' | 'progress' | 'policyRevision' | 'passThrough'
>

export type RefusalRecorder = ReturnType<typeof createRefusalRecorder>

/** Outlives its request, so it has the values of its record, and nothing else of the request. */
interface RepeatedRefusal {
  readonly entry: RefusalEntry
  readonly since: string
  count: number
}

const periodMs = 60_000
const maxClients = 1_000
/** In characters. Host names have at most 253. */
const maxOriginLength = 300

/**
 * Creates the recorder of refusals in the audit log: by the policies, by the rule of a pass-through route, and of
 * credentials. Those that callers, or pages in their browsers, can cause any number of times cannot fill the disk:
 * guessing keys, sending none, or a page that sends requests in the name of its visitors. The first of them by client
 * (IPv6: its /64 network), principal and reason is recorded at once; further ones are counted, and recorded as one at
 * the end of the minute. Clients beyond the maximum are counted together, by reason.
 */
export function createRefusalRecorder(audit: Pick<AuditLog, 'recordRefusal'>) {
  let counted = new Map<string, RepeatedRefusal>()
  const timer = setInterval(flush, periodMs).unref()

  function flush(): void {
    const over = counted
    counted = new Map()
    for (const { entry, since, count } of over.values()) {
      if (count > 0) audit.recordRefusal({ ...entry, details: { ...entry.details, repeats: count, since } })
    }
  }

  function recordRepeated(request: RefusedRequest, error: CatalogError): void {
    const own = `${error.reason} ${getAddressKey(request.client)} ${request.progress.principal?.name ?? ''}`
    const isFull = counted.size >= maxClients && !counted.has(own)
    const key = isFull ? error.reason : own
    const known = counted.get(key)
    if (known !== undefined) {
      known.count += 1
      return
    }
    const entry = createRefusalEntry(request, error)
    const counts = isFull ? { ...entry, client: 'several', peer: undefined } : entry
    counted.set(key, { entry: counts, since: new Date().toISOString(), count: isFull ? 1 : 0 })
    if (!isFull) audit.recordRefusal(entry)
  }

  return {
    record(request: RefusedRequest, error: CatalogError): void {
      if (request.passThrough?.isAllowed === false || findDenial(request, error) !== undefined)
        audit.recordRefusal(createRefusalEntry(request, error))
      else if (
        error instanceof DeniedError ||
        error instanceof AuthenticationError ||
        error.reason === 'cross_site'
      )
        recordRepeated(request, error)
    },
    /** Records counts that have not been recorded yet. */
    close(): void {
      clearInterval(timer)
      flush()
    },
  }
}

/** The denial of a caller with a credential. */
function findDenial({ progress }: RefusedRequest, error: CatalogError): DeniedError | undefined {
  return error instanceof DeniedError && progress.principal?.method !== 'anonymous' ? error : undefined
}

/** Creates the audit record of a refusal, which keeps nothing of the request. */
function createRefusalEntry(request: RefusedRequest, error: CatalogError): RefusalEntry {
  const { requestId, client, peer, progress } = request
  const { route, principal } = progress
  const denial = findDenial(request, error)
  const { rule, revision: policyRevision = request.policyRevision } = denial?.decision ?? {}
  return {
    request: requestId,
    status: error.status,
    reason: error.reason,
    operation: route?.operation.name,
    // The parts of an id can be slices of the whole request target.
    id: route?.id.map((part) => Buffer.from(part).toString()),
    principal,
    rule,
    policyRevision,
    client,
    peer,
    details: denial ? { needs: denial.required } : describeRefusal(request, error),
  }
}

/** The route of a pass-through request, and the page of another site, as far as it is recorded. */
function describeRefusal(
  { passThrough, method, progress }: RefusedRequest,
  { reason }: CatalogError,
): Details | undefined {
  const target = passThrough && { prefix: passThrough.prefix, method }
  if (reason !== 'cross_site') return passThrough?.isAllowed === false ? target : undefined
  const { origin, site } = progress.head?.page ?? {}
  return {
    ...(origin !== undefined && { origin: origin.slice(0, maxOriginLength) }),
    ...(site !== undefined && { site: site.slice(0, maxOriginLength) }),
    ...target,
  }
}
