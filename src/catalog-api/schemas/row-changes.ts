import { z } from 'zod'
import { durationSchema } from './duration.ts'
import {
  flagMember,
  int64,
  optionalMember,
  propertiesSchema,
  requestSchema,
  changeResponseSchema,
  responseSchema,
} from './members.ts'
import { operations } from '../operations.ts'
import { modeMember } from './modes.ts'

const branch = optionalMember(z.string())
const column = z.string().min(1)

/** Clients omit true. */
const flagDefaultingToTrue = z
  .boolean()
  .nullish()
  .transform((value) => value ?? true)

/** Conditions that have no effect without their flag. */
const conditionFlags = [
  ['when_matched_update_all_filt', 'when_matched_update_all'],
  ['when_not_matched_by_source_delete_filt', 'when_not_matched_by_source_delete'],
] as const

const mergeInsertRequest = requestSchema({
  branch,
  on: z.union([z.array(column).min(1), column.transform((one) => [one])], 'expected the names of columns'),
  when_matched_update_all: flagMember,
  when_matched_update_all_filt: optionalMember(z.string()),
  when_not_matched_insert_all: flagDefaultingToTrue,
  when_not_matched_by_source_delete: flagMember,
  when_not_matched_by_source_delete_filt: optionalMember(z.string()),
  timeout: optionalMember(durationSchema),
  use_index: flagDefaultingToTrue,
  use_rte: optionalMember(z.boolean()),
  use_lsm: optionalMember(z.boolean()),
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
  UpdateTable: {
    request: requestSchema({
      branch,
      predicate: optionalMember(z.string()).transform((text) => text?.trim() || undefined),
      updates,
      properties: optionalMember(propertiesSchema),
    }),
    response: changeResponseSchema({
      version: int64,
      updated_rows: int64,
      /** Its name in the remote client of LanceDB. */
      rows_updated: int64.optional(),
      properties: propertiesSchema.optional(),
    }),
  },
  DeleteFromTable: {
    request: requestSchema({ branch, predicate: z.string().trim().min(1, predicateMessage) }),
    response: changeResponseSchema({ version: int64.optional(), num_deleted_rows: int64.optional() }),
  },
}

const multipartWriteRequest = requestSchema({ branch: optionalMember(z.string()), upload_id: z.string() })

/** The members of InsertIntoTable are query parameters: its body is an Arrow stream. */
export const rowSchemas = {
  InsertIntoTable: {
    request: requestSchema({
      branch,
      mode: modeMember(operations.InsertIntoTable.modes),
      upload_id: optionalMember(z.string()).describe(
        'Of a multipart write that the caller began on this table and branch: the rows are a part of it.',
      ),
      upload_part_id: optionalMember(z.string()).describe('Any text that no other part has.'),
    }),
    response: changeResponseSchema({ version: int64.optional(), num_inserted_rows: int64.optional() }),
  },
  CreateMultipartWrite: {
    request: requestSchema({ branch }),
    response: responseSchema({ upload_id: z.string() }),
  },
  CompleteMultipartWrite: {
    request: multipartWriteRequest,
    response: changeResponseSchema({ version: int64.optional() }),
  },
  AbortMultipartWrite: { request: multipartWriteRequest, response: responseSchema({}) },
  CountTableRows: {
    request: requestSchema({
      version: optionalMember(int64),
      branch,
      predicate: optionalMember(z.string()),
    }),
    response: int64,
  },
}

const version = optionalMember(int64)

/** A nested column is a path with dots. The members of GetTableBlob are query parameters. */
export const blobSchemas = {
  FetchTableBlobs: {
    request: requestSchema({ version, branch, column, row_ids: z.array(int64) }),
  },
  /** `row_is_address`: whether the row id is the address of the row in the files of the dataset. */
  GetTableBlob: {
    request: requestSchema({
      version,
      branch,
      source_uri: optionalMember(z.string()),
      source_commit_micros: optionalMember(int64),
      row_is_address: optionalMember(z.boolean()),
    }),
  },
}
