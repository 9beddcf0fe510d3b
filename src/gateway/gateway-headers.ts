import {
  lancedbServerHeader,
  lancedbServerVersion,
  policyRevisionHeader,
  requestIdHeader,
} from '../catalog-api/headers.ts'
import type { ReceivedHead } from './received-head.ts'

interface AllowedRequest {
  readonly head: Pick<ReceivedHead, 'requestId' | 'isLancedb'>
  readonly allowedBy: { readonly revision: string }
}

/** The request of a response, and the revision of the policies that decided it; undefined before a decision. */
export interface ResponseContext {
  readonly requestId: string
  readonly policyRevision: string | undefined
  /** Whether the client is a LanceDB remote client. */
  readonly isLancedb: boolean
}

/** The context of the response to a request that policies have allowed. */
export function createResponseContext(request: AllowedRequest): ResponseContext {
  const { requestId, isLancedb } = request.head
  return { requestId, policyRevision: request.allowedBy.revision, isLancedb }
}

/** Headers that the gateway adds to a response: names and values in turn. */
export function gatewayHeaders({ requestId, policyRevision, isLancedb }: ResponseContext): readonly string[] {
  const own = [requestIdHeader, requestId]
  if (policyRevision !== undefined) own.push(policyRevisionHeader, policyRevision)
  if (isLancedb) own.push(lancedbServerHeader, lancedbServerVersion)
  return own
}
