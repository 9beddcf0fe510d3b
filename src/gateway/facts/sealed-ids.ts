import { isOperationName, type OperationName } from '../../catalog-api/operations.ts'
import type { Identifier } from '../../catalog-api/identifiers.ts'
import type { Principal } from '../../identity/index.ts'
import { isListOfStrings } from '../../lib/json/is-list-of-strings.ts'
import { isObject } from '../../lib/json/is-object.ts'
import { createJsonSealer } from '../../lib/sealed-json.ts'
import { getPrincipalKey } from '../../limits/limit-key.ts'

type WorkKind = 'job' | 'multipart write'

/** A job or multipart write that an operation started. */
export interface StartedWork {
  /** Its id at the upstream. */
  readonly upstreamId: string
  /** Name of the upstream. */
  readonly upstream: string
  readonly operation: OperationName
  /** The object of that operation, and its branch if one was stated. */
  readonly id: Identifier
  readonly branch?: string | undefined
}

/** Started work, with the id that its caller sent. */
export interface NamedWork extends StartedWork {
  readonly sealedId: string
}

/**
 * Replaces the ids of jobs and multipart writes by sealed ones, which contain who started the work by which operation.
 * So every gateway with the same secret knows them, without keeping any.
 */
export interface SealedIds {
  seal(kind: WorkKind, work: StartedWork, principal: Principal): string
  /**
   * Undefined for the id of an upstream, a modified id, and one that was sealed for other work, for another principal or
   * by another key.
   */
  open(kind: WorkKind, sealedId: string, principal: Principal): NamedWork | undefined
}

/** Ids of upstreams do not start with it. */
const marker = '/'

export function createSealedIds(secret: Uint8Array): SealedIds {
  const sealer = createJsonSealer(secret, 'catalog-gateway ids of started work')
  return {
    seal: (kind, work, principal) => marker + sealer.seal(work, createScope(kind, principal)),
    open(kind, sealedId, principal) {
      if (!sealedId.startsWith(marker)) return undefined
      try {
        const opened = sealer.open(sealedId.slice(marker.length), createScope(kind, principal))
        return isStartedWork(opened) ? { ...opened, sealedId } : undefined
      } catch {
        return undefined
      }
    },
  }
}

function createScope(kind: WorkKind, principal: Principal): string {
  return JSON.stringify([1, kind, getPrincipalKey(principal)])
}

/** Another release may have sealed it. */
function isStartedWork(value: unknown): value is StartedWork {
  if (!isObject(value)) return false
  const { upstreamId, upstream, operation, id, branch } = value
  return (
    typeof upstreamId === 'string' &&
    typeof upstream === 'string' &&
    typeof operation === 'string' &&
    isOperationName(operation) &&
    isListOfStrings(id) &&
    (branch === undefined || typeof branch === 'string')
  )
}
