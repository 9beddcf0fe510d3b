import {
  lancedbServerHeader,
  lancedbServerVersion,
  policyRevisionHeader,
  requestIdHeader,
} from '../catalog-api/headers.ts'

/** The request that an answer is for, and by which policies it was decided; undefined before any did. */
export interface ResponseContext {
  readonly requestId: string
  readonly policyRevision: string | undefined
  /** Whether the client is a remote client of LanceDB. */
  readonly isLancedb: boolean
}

/** What the gateway itself says in the head of an answer: names and values in turn. */
export function gatewayHeaders({ requestId, policyRevision, isLancedb }: ResponseContext): readonly string[] {
  const own = [requestIdHeader, requestId]
  if (policyRevision !== undefined) own.push(policyRevisionHeader, policyRevision)
  if (isLancedb) own.push(lancedbServerHeader, lancedbServerVersion)
  return own
}
