import { createSealRequest } from './record-group.ts'
import { createRecord, type UnchainedRecord } from '../records/unchained-record.ts'
import type { Recovery } from './recovery.ts'

/** What a chain begins with: who writes it, and what was found of the chain before. */
export function createOpeningRecords(
  { gateway, software }: { readonly gateway: string; readonly software: string },
  recovery: Recovery,
): UnchainedRecord[] {
  const { previous, unresolved, repairs, heads } = recovery
  return [
    createRecord('start', { gateway, software, ...(previous && { previous }), heads }),
    // Here, so that no more records follow the seal before than it says, whatever this gateway is told to do.
    createSealRequest(),
    ...repairs.map((repair) => createRecord('recovered', repair)),
    ...unresolved.map(({ seq, request, tables }) =>
      createRecord(
        'outcome',
        {
          request,
          intentSeq: seq,
          ...(previous && { intentChain: previous.chain }),
          result: 'unknown',
          details: { reason: 'crash' },
        },
        tables,
      ),
    ),
  ]
}
