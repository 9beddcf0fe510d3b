import { z } from 'zod'
import { operations } from 'catalog-gateway/catalog-api'
import { parseDuration } from 'catalog-gateway/lib'
import {
  changeResponseSchema,
  changeSchemas,
  flagMember,
  flagWithDefault,
  int64,
  modeMember,
  optional,
  propertiesSchema,
  requestSchema,
  schemas,
} from './members.ts'

const branch = optional.text
const column = z.string().min(1)

/** Parsed to whole milliseconds, at least 1. */
const duration = z.string().transform((text, context) => {
  const result = parseDuration(text)
  if (result >= 1) return result
  context.addIssue({
    code: 'custom',
    message: 'expected a duration above zero such as 500ms, 30s, 5m, 2 hours, 1m 30s or PT30S',
  })
  return z.NEVER
})

/** Clients omit true. */
const flagDefaultingToTrue = flagWithDefault(true)

/** Conditions that have no effect without their flag. */
const conditionFlags = [
  ['when_matched_update_all_filt', 'when_matched_update_all'],
  ['when_not_matched_by_source_delete_filt', 'when_not_matched_by_source_delete'],
] as const

const mergeInsertRequest = requestSchema({
  branch,
  on: z.union([z.array(column).min(1), column.transform((one) => [one])], 'expected the names of columns'),
  when_matched_update_all: flagMember,
  when_matched_update_all_filt: optional.text,
  when_not_matched_insert_all: flagDefaultingToTrue,
  when_not_matched_by_source_delete: flagMember,
  when_not_matched_by_source_delete_filt: optional.text,
  timeout: optional.of(duration),
  use_index: flagDefaultingToTrue,
  use_rte: optional.flag,
  use_lsm: optional.flag,
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

const predicateMessage = 'expected a SQL predicate; true selects every row'

const update = z.tuple([column, z.string()], 'expected a column and a SQL expression')

const updates = z
  .array(update)
  .min(1)
  .refine(
    (list) => new Set(list.map(([name]) => name)).size === list.length,
    'expected each column at most once',
  )

/**
 * The members of MergeInsertIntoTable are query parameters: its body is an Arrow stream. Without a predicate,
 * UpdateTable changes every row; DeleteFromTable requires one.
 */
export const rowChangeSchemas = {
  MergeInsertIntoTable: {
    request: mergeInsertRequest,
    response: changeResponseSchema({
      version: int64.optional(),
      num_inserted_rows: int64.optional(),
      num_updated_rows: int64.optional(),
      num_deleted_rows: int64.optional(),
    }),
  },
  /** `rows_updated` is the name in the remote client of LanceDB. */
  UpdateTable: changeSchemas(
    {
      branch,
      predicate: optional.text.transform((text) => text?.trim() || undefined),
      updates,
      properties: optional.properties,
    },
    {
      version: int64,
      updated_rows: int64,
      rows_updated: int64.optional(),
      properties: propertiesSchema.optional(),
    },
  ),
  DeleteFromTable: changeSchemas(
    { branch, predicate: z.string().trim().min(1, predicateMessage) },
    { version: int64.optional(), num_deleted_rows: int64.optional() },
  ),
}

const multipartWrite = { branch, upload_id: z.string() }

/** The members of InsertIntoTable are query parameters: its body is an Arrow stream. */
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
    { version: int64.optional(), num_inserted_rows: int64.optional() },
  ),
  CreateMultipartWrite: schemas({ branch }, { upload_id: z.string() }),
  CompleteMultipartWrite: changeSchemas(multipartWrite, { version: int64.optional() }),
  AbortMultipartWrite: schemas(multipartWrite, {}),
  CountTableRows: {
    request: requestSchema({ version: optional.count, branch, predicate: optional.text }),
    response: int64,
  },
}

/**
 * A nested column is a path with dots. The members of GetTableBlob are query parameters. `row_is_address`: whether the row
 * id is the address of the row in the files of the dataset.
 */
export const blobSchemas = {
  FetchTableBlobs: {
    request: requestSchema({ version: optional.count, branch, column, row_ids: z.array(int64) }),
  },
  GetTableBlob: {
    request: requestSchema({
      version: optional.count,
      branch,
      source_uri: optional.text,
      source_commit_micros: optional.count,
      row_is_address: optional.flag,
    }),
  },
}

/** How rows are assigned to the writers of a table: by the hash of a column, by its value, or all to one. */
const sharding = z
  .object({
    mode: z.string().describe('bucket, identity or unsharded'),
    column: optional.of(column),
    num_buckets: optional.count,
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
  .nullish()

/** What each writer holds in memory and in storage. Only clients interpret it. */
const writerState = z.looseObject({ shard_id: z.string(), status: z.string() }).meta({ id: 'RteWriterState' })

/** Responses hold null if the realtime engine does not write the table. Their `lsm_` members are those to the aliases. */
export const realtimeEngineSchemas = {
  EnableTableRte: schemas(
    {
      sharding,
      maintained_indexes: optional.texts,
      writer_config_defaults: optional.of(writerDefaults),
    },
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
  GetTableRteSpec: schemas({}, { rte_spec: writeSpec, lsm_write_spec: writeSpec }),
}
