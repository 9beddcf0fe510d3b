import { z } from 'zod'
import { duration } from './duration.ts'
import { flag, int64, optional, properties, request, response } from './members.ts'

const branch = optional(z.string())
const column = z.string().min(1)

/** A flag that is true unless false is sent. */
const flagUnlessFalse = z
  .boolean()
  .nullish()
  .transform((value) => value ?? true)

/** Conditions that have no effect without the flag that they narrow. */
const narrowed = [
  ['when_matched_update_all_filt', 'when_matched_update_all'],
  ['when_not_matched_by_source_delete_filt', 'when_not_matched_by_source_delete'],
] as const

const mergeInsertRequest = request({
  branch,
  on: z.union([z.array(column).min(1), column.transform((one) => [one])]),
  when_matched_update_all: flag,
  when_matched_update_all_filt: optional(z.string()),
  when_not_matched_insert_all: flagUnlessFalse,
  when_not_matched_by_source_delete: flag,
  when_not_matched_by_source_delete_filt: optional(z.string()),
  timeout: optional(duration),
  use_index: flagUnlessFalse,
}).superRefine((merge, context) => {
  for (const [condition, narrows] of narrowed) {
    if (merge[condition] === undefined || merge[narrows]) continue
    context.addIssue({
      code: 'custom',
      path: [condition],
      message: `expected only together with ${narrows}=true`,
    })
  }
})

/** A merge as the engine takes it: where a row matches is told by the columns `on`. */
export type MergeInsert = Readonly<z.output<typeof mergeInsertRequest>>

const predicateNeeded = 'expected a SQL predicate; true selects every row'

const update = z.tuple([column, z.string()], 'expected a column and a SQL expression')

const updates = z
  .array(update)
  .min(1)
  .refine(
    (list) => new Set(list.map(([name]) => name)).size === list.length,
    'expected each column at most once',
  )

/**
 * The schemas of the operations that change rows (interface section 2.5). The members of MergeInsertIntoTable all
 * stand in the query of the route: its body is an Arrow stream. Rows that match nothing are inserted, and indexes
 * used, unless false is sent: clients leave out what is true (section 9, 17). Without a predicate, or with a blank
 * one, UpdateTable changes every row; DeleteFromTable needs one.
 */
export const changeSchemas = {
  MergeInsertIntoTable: {
    request: mergeInsertRequest,
    response: response({
      version: int64,
      num_inserted_rows: int64,
      num_updated_rows: int64,
      num_deleted_rows: int64,
    }),
  },
  UpdateTable: {
    request: request({
      branch,
      predicate: optional(z.string()).transform((text) => text?.trim() || undefined),
      updates,
      properties: optional(properties),
    }),
    response: response({ version: int64, updated_rows: int64, properties }),
  },
  DeleteFromTable: {
    request: request({ branch, predicate: z.string().trim().min(1, predicateNeeded) }),
    response: response({ version: int64, num_deleted_rows: int64 }),
  },
}
