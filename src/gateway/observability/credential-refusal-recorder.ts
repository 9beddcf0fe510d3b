import type { AuditLog, RefusalEntry } from '../../audit/index.ts'
import { getAddressKey } from '../../lib/net/addresses.ts'
import type { Trace } from '../trace.ts'

type RefusedRequest = Pick<Trace, 'requestId' | 'client' | 'peer' | 'progress' | 'policyRevision'>

type Refusal = Pick<RefusalEntry, 'status' | 'reason'> & {
  readonly [Name in 'rule' | 'policyRevision' | 'details']?: RefusalEntry[Name] | undefined
}

export type CredentialRefusalRecorder = ReturnType<typeof createCredentialRefusalRecorder>

/** Outlives its request, so it has the values of its record, and nothing else of the request. */
interface RepeatedRefusal {
  readonly entry: RefusalEntry
  readonly since: string
  count: number
}

const periodMs = 60_000
const maxClients = 1_000

/**
 * Creates a recorder of refusals that callers, or pages in their browsers, can cause any number of times: guessing keys,
 * sending none, or a page that sends requests in the name of its visitors cannot fill the disk. The first refusal by
 * client (IPv6: its /64 network), principal and reason is recorded at once; further ones are counted, and recorded as
 * one at the end of the minute. Clients beyond the maximum are counted together, by reason.
 */
export function createCredentialRefusalRecorder(audit: Pick<AuditLog, 'recordRefusal'>) {
  let counted = new Map<string, RepeatedRefusal>()
  const timer = setInterval(flush, periodMs).unref()

  function flush(): void {
    const over = counted
    counted = new Map()
    for (const { entry, since, count } of over.values()) {
      if (count > 0) audit.recordRefusal({ ...entry, details: { ...entry.details, repeats: count, since } })
    }
  }

  return {
    record(request: RefusedRequest, refusal: Refusal): void {
      const { client: address, progress } = request
      const own = `${refusal.reason} ${getAddressKey(address)} ${progress.principal?.name ?? ''}`
      const isFull = counted.size >= maxClients && !counted.has(own)
      const key = isFull ? refusal.reason : own
      const known = counted.get(key)
      if (known !== undefined) {
        known.count += 1
        return
      }
      const entry = createRefusalEntry(request, refusal)
      const counts = isFull ? { ...entry, client: 'several', peer: undefined } : entry
      counted.set(key, { entry: counts, since: new Date().toISOString(), count: isFull ? 1 : 0 })
      if (!isFull) audit.recordRefusal(entry)
    },
    /** Records counts that have not been recorded yet. */
    close(): void {
      clearInterval(timer)
      flush()
    },
  }
}

/** Creates the audit record of a refusal, which keeps nothing of the request. */
export function createRefusalEntry(
  request: RefusedRequest,
  { status, reason, details, rule, policyRevision = request.policyRevision }: Refusal,
): RefusalEntry {
  const { route, principal } = request.progress
  const { requestId, client, peer } = request
  return {
    request: requestId,
    status,
    reason,
    // The parts of an id can be slices of the whole request target.
    ...(route && {
      operation: route.operation.name,
      id: route.id.map((part) => Buffer.from(part).toString()),
    }),
    ...(principal && { principal }),
    ...(rule && { rule }),
    ...(policyRevision !== undefined && { policyRevision }),
    client,
    peer,
    ...(details !== undefined && { details }),
  }
}
