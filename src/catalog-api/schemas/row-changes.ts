import { z } from 'zod'
import { durationSchema } from './duration.ts'
import {
  flagMember,
  int64,
  optionalMember,
  propertiesSchema,
  requestSchema,
  changeResponseSchema,
} from './members.ts'

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
