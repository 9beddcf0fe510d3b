import type { AuditClass } from '../../config/audit/audit-modes.ts'
import type { Operation } from '../../catalog-api/operations.ts'

export function getAuditClass({ effect, group }: Pick<Operation, 'effect' | 'group'>): AuditClass {
  if (effect === 'read') return 'read'
  if (effect === 'change') return 'admin'
  return group === 'write' ? 'data' : 'commit'
}
