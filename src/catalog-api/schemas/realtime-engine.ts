import { z } from 'zod'
import { int64, optionalMember, requestSchema, responseSchema } from './members.ts'

/** How rows are assigned to the writers of a table: by the hash of a column, by its value, or all to one. */
const sharding = z
  .object({
    mode: z.string().describe('bucket, identity or unsharded'),
    column: optionalMember(z.string().min(1)),
    num_buckets: optionalMember(int64),
  })
  .meta({ id: 'RteSharding' })

const writerDefaults = z.record(z.string(), z.string())

/** Absent indexes are all of the table, present and future; an empty list is none. */
const writeSpec = z
  .object({
    sharding,
    maintained_indexes: z.array(z.string()).nullish(),
    writer_config_defaults: writerDefaults.optional(),
  })
  .meta({ id: 'RteWriteSpec' })

/** What each writer holds in memory and in storage. Only clients interpret it. */
const writerState = z.looseObject({ shard_id: z.string(), status: z.string() }).meta({ id: 'RteWriterState' })

/** Responses hold null if the realtime engine does not write the table. Their `lsm_` members are those to the aliases. */
export const realtimeEngineSchemas = {
  EnableTableRte: {
    request: requestSchema({
      sharding,
      maintained_indexes: optionalMember(z.array(z.string())),
      writer_config_defaults: optionalMember(writerDefaults),
    }),
    response: responseSchema({}),
  },
  DisableTableRte: { request: requestSchema({}), response: responseSchema({}) },
  FlushTableRte: { request: requestSchema({}) },
  CompactTableRte: { request: requestSchema({}) },
  GetTableRteStats: {
    request: requestSchema({
      include_sstable_rows: optionalMember(z.boolean()),
      include_generation_rows: optionalMember(z.boolean()).describe('That of `get_lsm_stats`.'),
    }),
    response: responseSchema({
      rte_stats: z.object({ table_shards: z.array(writerState) }).nullish(),
      lsm_stats: z.object({ buckets: z.array(writerState) }).nullish(),
    }),
  },
  GetTableRteSpec: {
    request: requestSchema({}),
    response: responseSchema({ rte_spec: writeSpec.nullish(), lsm_write_spec: writeSpec.nullish() }),
  },
}
