import type { AuditLog } from '../../audit/log.ts'
import type { Trace } from '../trace.ts'

/** A refusal of somebody who is not known. */
interface UnknownRefused {
  readonly status: number
  readonly reason: string
}

/**
 * Records in the audit log who was not let in, or denied something without a credential, so that whoever tries keys or
 * sends none cannot fill the disk with it.
 */
export interface RefusedCredentials {
  note(trace: Trace, error: UnknownRefused): void
  /** Records what was counted and not recorded yet. */
  close(): void
}

interface Repeats {
  readonly trace: Trace
  readonly error: UnknownRefused
  readonly since: string
  count: number
}

const periodMs = 60_000
const maximumClients = 1_000

/**
 * The first refusal of a client for a reason is recorded at once; further ones are counted, and recorded as one when
 * the minute is over. When too many clients are counted, those beyond are counted together, by reason.
 */
export function recordRefusedCredentials(audit: Pick<AuditLog, 'refusal'>): RefusedCredentials {
  let counted = new Map<string, Repeats>()
  const timer = setInterval(flush, periodMs).unref()

  function flush(): void {
    const over = counted
    counted = new Map()
    for (const { trace, error, since, count } of over.values()) {
      if (count > 0) record(trace, error, { repeats: count, since })
    }
  }

  function record(trace: Trace, error: UnknownRefused, details?: { repeats: number; since: string }): void {
    audit.refusal({
      request: trace.requestId,
      status: error.status,
      reason: error.reason,
      ...(trace.meaning && { operation: trace.meaning.operation.name, id: trace.meaning.id }),
      ...(trace.principal && { principal: trace.principal }),
      ...(trace.policyRevision !== undefined && { policyRevision: trace.policyRevision }),
      client: trace.client,
      ...(details && { details }),
    })
  }

  return {
    note(trace, error) {
      const own = `${error.reason} ${trace.client}`
      const isFull = counted.size >= maximumClients && !counted.has(own)
      const key = isFull ? error.reason : own
      const known = counted.get(key)
      if (known !== undefined) {
        known.count += 1
        return
      }
      const someone = { ...trace, client: 'several' }
      const since = new Date().toISOString()
      counted.set(key, { trace: isFull ? someone : trace, error, since, count: isFull ? 1 : 0 })
      if (!isFull) record(trace, error)
    },
    close() {
      clearInterval(timer)
      flush()
    },
  }
}
