import { z } from 'zod'
import { isOperationName, type OperationName } from '../../catalog-api/operations.ts'
import type { Principal } from '../../identity/index.ts'
import { createJsonSealer } from '../../lib/sealed-json.ts'
import { getPrincipalKey } from '../../limits/limit-key.ts'

type WorkKind = 'job' | 'multipart write'

const startedWork = z.object({
  /** Its id at the upstream. */
  upstreamId: z.string(),
  /** Name of the upstream. */
  upstream: z.string(),
  operation: z.custom<OperationName>((name) => typeof name === 'string' && isOperationName(name)),
  /** The object of that operation, and its branch if one was stated. */
  id: z.array(z.string()).readonly(),
  branch: z.string().optional(),
})
/** A job or multipart write that an operation started. */
export type StartedWork = Readonly<z.output<typeof startedWork>>

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
        // Another release may have sealed it.
        const work = startedWork.safeParse(opened).data
        return work && { ...work, sealedId }
      } catch {
        return undefined
      }
    },
  }
}

function createScope(kind: WorkKind, principal: Principal): string {
  return JSON.stringify([1, kind, getPrincipalKey(principal)])
}
