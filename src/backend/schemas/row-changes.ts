import { z } from 'zod'
import { operations } from 'catalog-gateway/catalog-api'
import { parseDuration } from 'catalog-gateway/lib'
import {
  branch,
  changeResponseSchema,
  changeSchemas,
  every,
  flagMember,
  flagWithDefault,
  int64,
  maybe,
  modeMember,
  model,
  optional,
  requestSchema,
  schemas,
  uniqueList,
} from './members.ts'

const column = z.string().min(1)

/** Parsed to whole milliseconds, at least 1. */
const duration = z.string().transform((text, context) => {
  const result = parseDuration(text)
  if (result >= 1) return result
  context.addIssue({
    code: 'custom',
    message: 'expected a duration above zero such as 500ms, 30s, 5m or 1m 30s',
  })
  return z.NEVER
})

/** Conditions that have no effect without their flag. */
const conditionFlags = [
  ['when_matched_update_all_filt', 'when_matched_update_all'],
  ['when_not_matched_by_source_delete_filt', 'when_not_matched_by_source_delete'],
] as const

const mergeInsertRequest = requestSchema({
  branch,
  on: z.union([z.array(column).min(1), column.transform((one) => [one])], 'expected the names of columns'),
  ...every(flagMember, 'when_matched_update_all', 'when_not_matched_by_source_delete'),
  ...every(optional.text, 'when_matched_update_all_filt', 'when_not_matched_by_source_delete_filt'),
  // Clients omit true.
  ...every(flagWithDefault(true), 'when_not_matched_insert_all', 'use_index'),
  timeout: optional.of(duration),
  ...every(optional.flag, 'use_rte', 'use_lsm'),
}).superRefine((merge, context) => {
  for (const [condition, flag] of conditionFlags) {
    if (merge[condition] === undefined || merge[flag]) continue
    context.addIssue({
      code: 'custom',
      path: [condition],
      message: `expected only together with ${flag}=true`,
    })
  }
})

/** The columns `on` identify matching rows. */
export type MergeInsert = Readonly<z.output<typeof mergeInsertRequest>>

const update = z.tuple([column, z.string()], 'expected a column and a SQL expression')

const multipartWrite = { branch, upload_id: z.string() }
const point = { version: optional.count, branch }

/**
 * The members of operations whose body is an Arrow stream, and of GetTableBlob, are query parameters. Without a predicate,
 * UpdateTable changes every row; DeleteFromTable requires one.
 */
export const rowSchemas = {
  InsertIntoTable: changeSchemas(
    {
      branch,
      mode: modeMember(operations.InsertIntoTable.modes),
      upload_id: optional.text.describe(
        'Of a multipart write that the caller began on this table and branch: the rows are a part of it.',
      ),
      upload_part_id: optional.text.describe('Any text that no other part has.'),
    },
    every(maybe.count, 'version', 'num_inserted_rows'),
  ),
  CreateMultipartWrite: schemas({ branch }, { upload_id: z.string() }),
  CompleteMultipartWrite: changeSchemas(multipartWrite, { version: maybe.count }),
  AbortMultipartWrite: schemas(multipartWrite, {}),
  CountTableRows: { request: requestSchema({ ...point, predicate: optional.text }), response: int64 },
  MergeInsertIntoTable: {
    request: mergeInsertRequest,
    response: changeResponseSchema(
      every(maybe.count, 'version', 'num_inserted_rows', 'num_updated_rows', 'num_deleted_rows'),
    ),
  },
  /** `rows_updated` is the name in the remote client of LanceDB. */
  UpdateTable: changeSchemas(
    {
      branch,
      predicate: optional.text.transform((text) => text?.trim() || undefined),
      updates: uniqueList(update, ([name]) => name),
      properties: optional.properties,
    },
    {
      ...every(int64, 'version', 'updated_rows'),
      rows_updated: maybe.count,
      properties: maybe.properties,
    },
  ),
  DeleteFromTable: changeSchemas(
    { branch, predicate: z.string().trim().min(1, 'expected a SQL predicate; true selects every row') },
    every(maybe.count, 'version', 'num_deleted_rows'),
  ),
  /** A nested column is a path with dots. `row_is_address`: whether the row id is the address of the row in the dataset. */
  FetchTableBlobs: { request: requestSchema({ ...point, column, row_ids: z.array(int64) }) },
  GetTableBlob: {
    request: requestSchema({
      ...point,
      source_uri: optional.text,
      source_commit_micros: optional.count,
      row_is_address: optional.flag,
    }),
  },
}

/** How rows are assigned to the writers of a table: by the hash of a column, by its value, or all to one. */
const sharding = model('RteSharding', {
  mode: z.string().describe('bucket, identity or unsharded'),
  column: optional.of(column),
  num_buckets: optional.count,
})

/** Absent indexes are all of the table, present and future; an empty list is none. */
const writeSpec = model('RteWriteSpec', {
  sharding,
  maintained_indexes: z.array(z.string()).nullish(),
  writer_config_defaults: maybe.properties,
}).nullish()

/** What each writer holds in memory and in storage. Only clients interpret it. */
const writerState = z.looseObject({ shard_id: z.string(), status: z.string() }).meta({ id: 'RteWriterState' })

/** Responses hold null if the realtime engine does not write the table. Their `lsm_` members are those to the aliases. */
export const realtimeEngineSchemas = {
  EnableTableRte: schemas(
    { sharding, maintained_indexes: optional.texts, writer_config_defaults: optional.properties },
    {},
  ),
  DisableTableRte: schemas({}, {}),
  FlushTableRte: { request: requestSchema({}) },
  CompactTableRte: { request: requestSchema({}) },
  GetTableRteStats: schemas(
    {
      include_sstable_rows: optional.flag,
      include_generation_rows: optional.flag.describe('That of `get_lsm_stats`.'),
    },
    {
      rte_stats: z.object({ table_shards: z.array(writerState) }).nullish(),
      lsm_stats: z.object({ buckets: z.array(writerState) }).nullish(),
    },
  ),
  GetTableRteSpec: schemas({}, every(writeSpec, 'rte_spec', 'lsm_write_spec')),
}
