import { createSealRequest } from './record-group.ts'
import { createRecord, type UnchainedRecord } from '../records/unchained-record.ts'
import type { Recovery } from './recovery.ts'

export function createOpeningRecords(
  { gateway, software }: { readonly gateway: string; readonly software: string },
  recovery: Recovery,
): UnchainedRecord[] {
  const { previous, unresolved, repairs, heads, policyFiles } = recovery
  return [
    createRecord('start', {
      gateway,
      software,
      ...(previous && { previous }),
      heads,
      ...(policyFiles !== undefined && { policyFiles }),
    }),
    // Seals here, so that the limit announced by the previous seal holds even if the settings of this gateway differ.
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
