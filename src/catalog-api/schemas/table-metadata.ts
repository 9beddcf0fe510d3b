import { z } from 'zod'
import { int64, optionalMember, propertiesSchema, requestSchema, responseSchema } from './members.ts'

const lengths = z
  .object({ min: int64, max: int64, mean: int64, p25: int64, p50: int64, p75: int64, p99: int64 })
  .meta({ id: 'FragmentSummary' })

const fragmentStats = z
  .object({ num_fragments: int64, num_small_fragments: int64, lengths })
  .meta({ id: 'FragmentStats' })

/** `metadata` is the whole body of UpdateTableSchemaMetadata; null removes a key. Its response is the bare map. */
export const tableMetadataSchemas = {
  GetTableStats: {
    request: requestSchema({ branch: optionalMember(z.string()) }),
    response: responseSchema({
      total_bytes: int64,
      num_rows: int64,
      num_indices: int64,
      fragment_stats: fragmentStats,
    }),
  },
  UpdateTableSchemaMetadata: {
    request: requestSchema({
      branch: optionalMember(z.string()),
      metadata: z.record(z.string(), z.string().nullable()),
    }),
    response: propertiesSchema,
  },
  PrewarmTableData: {
    request: requestSchema({
      columns: optionalMember(z.array(z.string())).describe('All columns if it is absent or empty.'),
    }),
    response: responseSchema({}),
  },
}
