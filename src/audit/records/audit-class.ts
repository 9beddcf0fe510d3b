import type { AuditClass } from '../../config/audit/audit-modes.ts'
import { operations, type OperationName } from '../../catalog-api/operations.ts'

export function getAuditClass(name: OperationName): AuditClass {
  const { effect, group } = operations[name]
  if (effect === 'read') return 'read'
  if (effect === 'change') return 'admin'
  return group === 'write' ? 'data' : 'commit'
}
