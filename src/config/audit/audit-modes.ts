/**
 * How the record of an operation is written. `strict`: no intent on disk, no operation (503), and no answer before
 * the outcome is on disk. `durable`: no intent on disk, no operation; the outcome follows by itself. `besteffort`:
 * nothing waits; what is lost is counted in the log. `off`: no record. What nobody waits for is written some
 * milliseconds later, so that it shares writes (group-commit.ts).
 */
export const operationModes = ['strict', 'durable', 'besteffort', 'off'] as const

export type OperationMode = (typeof operationModes)[number]

/**
 * The classes of operations. `commit`: creates, deletes or restores table versions. `data`: does so by changing rows.
 * `admin`: changes anything else. `read`: changes nothing.
 */
export type AuditClass = 'commit' | 'data' | 'admin' | 'read'

/** How each class of operations is recorded, and what else is: denials, and reloads of policies and keys. */
export interface AuditModes extends Readonly<Record<AuditClass, OperationMode>> {
  readonly denial: EventMode
  readonly reload: EventMode
}

/** An event has happened already: nothing can wait for its record. */
export const eventModes = ['besteffort', 'off'] as const

type EventMode = (typeof eventModes)[number]

/** No change without a record; reads are not recorded. */
export const defaultModes: AuditModes = {
  commit: 'strict',
  data: 'strict',
  admin: 'strict',
  read: 'off',
  denial: 'besteffort',
  reload: 'besteffort',
}
