import { isPseudonym } from '../records/redaction.ts'
import type { AuditedPrincipal } from '../records/audit-record.ts'
import type { KnownCaller } from '../../policy/analysis/subject.ts'

/** The names of a caller in a record; undefined if it has a pseudonym instead. */
export function recordedNames({
  name,
  method,
  credentialId,
}: AuditedPrincipal): Pick<KnownCaller, 'isAnonymous' | 'user' | 'key'> {
  const key = method === 'api-key' ? credentialId : ''
  return {
    isAnonymous: method === 'anonymous',
    user: isPseudonym(name) ? undefined : name,
    key: isPseudonym(key) ? undefined : key,
  }
}
