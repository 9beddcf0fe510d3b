import type { AuditLog } from '../../audit/log/audit-log.ts'
import type { Trace } from '../trace.ts'

type RefusedRequest = Pick<Trace, 'requestId' | 'client' | 'progress' | 'policyRevision'>

/** A refusal without a principal. */
interface CredentialRefusal {
  readonly status: number
  readonly reason: string
}

/**
 * Records refusals without a principal in the audit log, at a limited rate, so that guessing keys, or sending none,
 * cannot fill the disk.
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
 * Creates a recorder. The first refusal by client and reason is recorded at once; further ones are counted, and
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
    { requestId, client, progress: { route, principal }, policyRevision }: RefusedRequest,
    error: CredentialRefusal,
    details?: { repeats: number; since: string },
  ): void {
    audit.recordRefusal({
      request: requestId,
      status: error.status,
      reason: error.reason,
      ...(route && { operation: route.operation.name, id: route.id }),
      ...(principal && { principal }),
      ...(policyRevision !== undefined && { policyRevision }),
      client,
      ...(details && { details }),
    })
  }

  return {
    record(request, refusal) {
      const own = `${refusal.reason} ${request.client}`
      const isFull = counted.size >= maxClients && !counted.has(own)
      const key = isFull ? refusal.reason : own
      const known = counted.get(key)
      if (known !== undefined) {
        known.count += 1
        return
      }
      const since = new Date().toISOString()
      const { requestId, progress, policyRevision } = request
      const client = isFull ? 'several' : request.client
      const noted = { requestId, progress, policyRevision, client }
      counted.set(key, { request: noted, refusal, since, count: isFull ? 1 : 0 })
      if (!isFull) record(request, refusal)
    },
    close() {
      clearInterval(timer)
      flush()
    },
  }
}
