import { sealHere } from './chain-group.ts'
import { looseRecord, type LooseRecord } from './loose-records.ts'
import type { Recovery } from './recovery.ts'

/** What a chain begins with: who writes it, and what was found of the chain before. */
export function openingRecords(
  { gateway, software }: { readonly gateway: string; readonly software: string },
  recovery: Recovery,
): LooseRecord[] {
  const { previous, unresolved, repairs, heads } = recovery
  return [
    looseRecord('start', { gateway, software, ...(previous && { previous }), heads }),
    // Here, so that no more records follow the seal before than it says, whatever this gateway is told to do.
    sealHere(),
    ...repairs.map((repair) => looseRecord('recovered', repair)),
    ...unresolved.map(({ seq, request, tables }) =>
      looseRecord(
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
