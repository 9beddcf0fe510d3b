import {
  lancedbServerHeader,
  lancedbServerVersion,
  policyRevisionHeader,
  requestIdHeader,
} from '../interface/headers.ts'

/** The request that an answer is for, and by which policies it was decided; undefined before any did. */
export interface AnsweredFor {
  readonly requestId: string
  readonly policyRevision: string | undefined
  /** Whether the client is a remote client of LanceDB. */
  readonly isLancedb: boolean
}

/** What the gateway itself says in the head of an answer: names and values in turn. */
export function headersFor({ requestId, policyRevision, isLancedb }: AnsweredFor): readonly string[] {
  const own = [requestIdHeader, requestId]
  if (policyRevision !== undefined) own.push(policyRevisionHeader, policyRevision)
  if (isLancedb) own.push(lancedbServerHeader, lancedbServerVersion)
  return own
}
