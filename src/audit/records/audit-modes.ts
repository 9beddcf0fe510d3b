import { operations, type OperationName } from '../../catalog-api/operations.ts'

/**
 * How the record of an operation is written. `strict`: without a durable intent, the operation fails (503), and the
 * response waits for the durable outcome. `durable`: without a durable intent, the operation fails; the outcome is
 * written asynchronously. `besteffort`: all records are asynchronous; losses are counted in the log. `off`: no record.
 * Asynchronous records are written some milliseconds later in shared writes (group-commit.ts).
 */
export const operationModes = ['strict', 'durable', 'besteffort', 'off'] as const
export type OperationMode = (typeof operationModes)[number]

/**
 * Classes of operations. `commit`: creates, deletes or restores table versions. `data`: does so by changing rows.
 * `admin`: changes anything else. `read`: changes nothing.
 */
type AuditClass = 'commit' | 'data' | 'admin' | 'read'

/** Modes of each class of operations, of denials, and of reloads of policies and keys. */
export interface AuditModes extends Readonly<Record<AuditClass, OperationMode>> {
  readonly denial: EventMode
  readonly reload: EventMode
}

/** Events have already happened, so nothing can wait for their records. */
export const eventModes = ['besteffort', 'off'] as const
type EventMode = (typeof eventModes)[number]

/** Records all changes durably; does not record reads. */
export const defaultModes: AuditModes = {
  commit: 'strict',
  data: 'strict',
  admin: 'strict',
  read: 'off',
  denial: 'besteffort',
  reload: 'besteffort',
}

export function getAuditClass(name: OperationName): AuditClass {
  const { effect, group } = operations[name]
  if (effect === 'read') return 'read'
  if (effect === 'change') return 'admin'
  return group === 'write' ? 'data' : 'commit'
}
