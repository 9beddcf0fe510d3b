import { isOperationName, type OperationName } from '../../catalog-api/operations.ts'
import type { Identifier } from '../../catalog-api/identifiers.ts'
import type { Principal } from '../../identity/principal.ts'
import { isListOfStrings } from '../../lib/json/is-list-of-strings.ts'
import { isObject } from '../../lib/json/is-object.ts'
import { createJsonSealer } from '../../lib/sealed-json.ts'
import { getPrincipalKey } from '../../limits/limit-key.ts'

/** A job that an operation started. */
export interface StartedJob {
  /** Its id at the upstream. */
  readonly jobId: string
  /** Name of the upstream. */
  readonly upstream: string
  readonly operation: OperationName
  /** The object of that operation, and its branch if one was stated. */
  readonly id: Identifier
  readonly branch?: string | undefined
}

/** A started job, with the id that its caller sent. */
export interface NamedJob extends StartedJob {
  readonly sealedId: string
}

/**
 * Replaces the ids of jobs by sealed ones, which contain who started the job by which operation. So the gateway knows
 * them without keeping any.
 */
export interface StartedJobs {
  seal(job: StartedJob, principal: Principal): string
  /** Undefined for the id of an upstream, a modified id, and one that was sealed for another principal or by another key. */
  open(jobId: string, principal: Principal): NamedJob | undefined
}

/** Ids of upstreams do not start with it. */
const marker = '/'

export function createStartedJobs(secret: Uint8Array): StartedJobs {
  const sealer = createJsonSealer(secret, 'catalog-gateway job ids')
  return {
    seal: (job, principal) => marker + sealer.seal(job, createScope(principal)),
    open(jobId, principal) {
      if (!jobId.startsWith(marker)) return undefined
      try {
        const opened = sealer.open(jobId.slice(marker.length), createScope(principal))
        return isStartedJob(opened) ? { ...opened, sealedId: jobId } : undefined
      } catch {
        return undefined
      }
    },
  }
}

function createScope(principal: Principal): string {
  return JSON.stringify([1, getPrincipalKey(principal)])
}

/** Another release may have sealed it. */
function isStartedJob(value: unknown): value is StartedJob {
  if (!isObject(value)) return false
  const { jobId, upstream, operation, id, branch } = value
  return (
    typeof jobId === 'string' &&
    typeof upstream === 'string' &&
    typeof operation === 'string' &&
    isOperationName(operation) &&
    isListOfStrings(id) &&
    (branch === undefined || typeof branch === 'string')
  )
}
