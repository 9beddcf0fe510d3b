import type { AuditLog } from '../../audit/log/audit-log.ts'
import type { Details } from '../../audit/records/audit-record.ts'
import type { Trace } from '../trace.ts'

type RefusedRequest = Pick<Trace, 'requestId' | 'client' | 'peer' | 'progress' | 'policyRevision'>

/** A refusal that callers, or pages in their browsers, can cause any number of times. */
interface CredentialRefusal {
  readonly status: number
  readonly reason: string
  readonly details?: Details
}

/**
 * Records refusals in the audit log at a limited rate: guessing keys, sending none, or a page that sends requests in the
 * name of its visitors cannot fill the disk.
 */
export interface CredentialRefusalRecorder {
  record(request: RefusedRequest, error: CredentialRefusal): void
  /** Records counts that have not been recorded yet. */
  close(): void
}

interface RepeatedRefusal {
  readonly request: RefusedRequest
  readonly refusal: CredentialRefusal
  readonly since: string
  count: number
}

const periodMs = 60_000
const maxClients = 1_000

/**
 * Creates a recorder. The first refusal by client, principal and reason is recorded at once; further ones are counted, and
 * recorded as one at the end of the minute. Clients beyond the maximum are counted together, by reason.
 */
export function createCredentialRefusalRecorder(
  audit: Pick<AuditLog, 'recordRefusal'>,
): CredentialRefusalRecorder {
  let counted = new Map<string, RepeatedRefusal>()
  const timer = setInterval(flush, periodMs).unref()

  function flush(): void {
    const over = counted
    counted = new Map()
    for (const { request, refusal, since, count } of over.values()) {
      if (count > 0) record(request, refusal, { repeats: count, since })
    }
  }

  function record(
    { requestId, client, peer, progress: { route, principal }, policyRevision }: RefusedRequest,
    error: CredentialRefusal,
    repeats?: { repeats: number; since: string },
  ): void {
    const details = { ...error.details, ...repeats }
    audit.recordRefusal({
      request: requestId,
      status: error.status,
      reason: error.reason,
      ...(route && { operation: route.operation.name, id: route.id }),
      ...(principal && { principal }),
      ...(policyRevision !== undefined && { policyRevision }),
      client,
      peer,
      ...(Object.keys(details).length > 0 && { details }),
    })
  }

  return {
    record(request, refusal) {
      const { client: address, progress } = request
      const own = `${refusal.reason} ${address} ${progress.principal?.name ?? ''}`
      const isFull = counted.size >= maxClients && !counted.has(own)
      const key = isFull ? refusal.reason : own
      const known = counted.get(key)
      if (known !== undefined) {
        known.count += 1
        return
      }
      const since = new Date().toISOString()
      const { requestId, policyRevision, peer } = request
      const client = isFull ? 'several' : address
      const noted = { requestId, progress, policyRevision, client, peer: isFull ? undefined : peer }
      counted.set(key, { request: noted, refusal, since, count: isFull ? 1 : 0 })
      if (!isFull) record(request, refusal)
    },
    close() {
      clearInterval(timer)
      flush()
    },
  }
}
