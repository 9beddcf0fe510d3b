import { policyRevisionHeader, requestIdHeader } from '../interface/headers.ts'

/** The request that an answer is for, and by which policies it was decided; undefined before any did. */
export interface AnsweredFor {
  readonly requestId: string
  readonly policyRevision: string | undefined
}

/** What the gateway itself says in the head of an answer: names and values in turn. */
export function headersFor({ requestId, policyRevision }: AnsweredFor): readonly string[] {
  const own = [requestIdHeader, requestId]
  return policyRevision === undefined ? own : [...own, policyRevisionHeader, policyRevision]
}
