/**
 * `strict`: without an intent on disk the operation is refused (503), and the response waits for the outcome.
 * `durable`: only the intent must be on disk. `besteffort`: records are asynchronous, and lost ones are counted. `off`:
 * no record. Asynchronous records are batched (group-commit.ts).
 */
export const operationModes = ['strict', 'durable', 'besteffort', 'off'] as const

export type OperationMode = (typeof operationModes)[number]

/**
 * `commit`: creates, deletes or restores table versions. `data`: creates versions by changing rows, or prepares that.
 * `admin`: any other change.
 */
export type AuditClass = 'commit' | 'data' | 'admin' | 'read'

export interface AuditModes extends Readonly<Record<AuditClass, OperationMode>> {
  readonly denial: EventMode
  readonly reload: EventMode
}

/** An event has already happened, so nothing can wait for its record. */
export const eventModes = ['besteffort', 'off'] as const

type EventMode = (typeof eventModes)[number]

export const defaultModes: AuditModes = {
  commit: 'strict',
  data: 'strict',
  admin: 'strict',
  read: 'off',
  denial: 'besteffort',
  reload: 'besteffort',
}
