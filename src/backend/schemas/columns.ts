import { z } from 'zod'
import { functionOutput, functionReference } from './functions.ts'
import { jsonArrowDataType, jsonArrowSchema, type JsonArrowDataType } from './json-arrow-schema.ts'
import { changeSchemas, int64, optional, propertiesSchema, schemas } from './members.ts'

const branch = optional.text
const path = z.string().min(1)

/** Columns that every table has without listing them in its schema. */
const systemColumn = /^_row(id|addr|offset|_created_at_version|_last_updated_at_version)$/i

/** The name of a new column. */
export const columnName = path
  .refine((name) => !/[.`]/.test(name), 'expected a name without "." and backticks')
  .refine((name) => !systemColumn.test(name), 'expected a name that is not one of the system columns')

/** The JSON of a type, as the remote client of LanceDB sends it; or its name, as Lance accepts it. */
const dataType = z.union(
  [
    jsonArrowDataType,
    z
      .string()
      .min(1)
      .transform((type): JsonArrowDataType => ({ type })),
  ],
  'expected the name of a type, or an object {type, length, fields}',
)

const virtualColumnOutput = z
  .object({
    column: z.string(),
    struct_field: z.string(),
    data_type: dataType,
    nullable: z.boolean(),
    metadata: optional.properties,
  })
  .meta({ id: 'AddVirtualColumnOutputEntry' })

/** The code that computes a virtual column, in base64, and its environment. */
const virtualColumnCode = {
  udf_backend: optional.text,
  auto_backfill: optional.flag,
  manifest: optional.text,
  manifest_checksum: optional.text.describe('The SHA-256 of the manifest.'),
  field_metadata: optional.properties,
}

const addedVirtualColumn = z
  .object({
    input_columns: z.array(z.string()),
    outputs: z.array(virtualColumnOutput),
    image: z.string(),
    udf: z.string().describe('Pickled code in base64.'),
    udf_name: z.string(),
    udf_version: z.string(),
    ...virtualColumnCode,
  })
  .meta({ id: 'AddVirtualColumnEntry' })

const changedVirtualColumn = z
  .object({
    input_columns: optional.texts,
    image: optional.text,
    udf: optional.text.describe('Pickled code in base64.'),
    udf_name: optional.text,
    udf_version: optional.text,
    ...virtualColumnCode,
  })
  .meta({ id: 'AlterVirtualColumnEntry' })

/** The registered function that computes a column, with the arguments and columns of this application. */
const functionColumns = z
  .object({
    application: z
      .object({
        function: functionReference,
        // The path of a column, or a constant: any value that the function takes.
        inputs: z.array(z.object({ parameter: z.string(), kind: z.string(), value: z.unknown() })),
        output: functionOutput,
        columns: z.record(z.string(), z.string()).optional(),
        initialization: z.record(z.string(), z.unknown()).optional(),
      })
      .meta({ id: 'FunctionApplication' }),
    binding_metadata_version: int64,
    input_bindings: z.array(
      z.object({
        parameter: z.string(),
        field_path: z.string(),
        arrow_type: z.string(),
        nullable: z.boolean(),
      }),
    ),
    input_schema: jsonArrowSchema,
    output_schema: jsonArrowSchema,
    outputs: z.array(z.object({ result_field: z.string(), output_name: z.string(), output_ordinal: int64 })),
  })
  .meta({ id: 'FunctionColumns' })

const newColumn = z
  .object({
    name: columnName,
    expression: optional.text,
    computed: optional.of(z.string().min(1)),
    /** For the columns of a function, as the remote client of LanceDB sends them. */
    all_null: optional.flag,
    virtual_column: optional.of(addedVirtualColumn),
  })
  .meta({ id: 'AddColumnsEntry' })

const alteration = z
  .object({
    path,
    rename: optional.of(columnName),
    nullable: optional.flag,
    data_type: optional.of(dataType),
    virtual_column: optional.of(changedVirtualColumn),
  })
  .refine(
    ({ rename, nullable, data_type: type, virtual_column: virtual }) =>
      [rename, nullable, type, virtual].some((change) => change !== undefined),
    'expected rename, nullable or data_type',
  )
  .meta({ id: 'AlterColumnsEntry' })

const fieldUpdate = z
  .object({
    path,
    metadata: z.record(z.string(), z.string().nullable()),
    replace: optional.flag,
  })
  .meta({ id: 'UpdateFieldMetadataEntry' })

function uniqueColumns<Entry extends z.ZodType>(entry: Entry, keyOf: (entry: z.output<Entry>) => string) {
  return z
    .array(entry)
    .min(1)
    .refine(
      (entries) => new Set(entries.map(keyOf)).size === entries.length,
      'expected each column at most once',
    )
}

/**
 * A path is a column or a nested field: names joined by `.`, in backticks if they contain one. Field metadata is merged
 * unless `replace` is set; null removes a key.
 */
export const columnSchemas = {
  AlterTableAddColumns: schemas(
    {
      branch,
      new_columns: uniqueColumns(newColumn, ({ name }) => name),
      function: optional.of(functionColumns),
      auto_refresh_enabled: optional.flag,
      auto_refresh_interval_seconds: optional.count,
    },
    { version: int64 },
  ),
  AlterTableAlterColumns: schemas(
    { branch, alterations: uniqueColumns(alteration, (one) => one.path) },
    { version: int64 },
  ),
  AlterTableBackfillColumns: schemas(
    {
      branch,
      column: path,
      where: optional.text,
      concurrency: optional.count,
      intra_applier_concurrency: optional.count,
      min_checkpoint_size: optional.count,
      max_checkpoint_size: optional.count,
      read_version: optional.count,
      task_size: optional.count,
      num_frags: optional.count,
      checkpoint_size: optional.count,
      commit_granularity: optional.count,
      batch_checkpoint_flush_interval_seconds: optional.of(z.number()),
      cluster: optional.text,
      manifest: optional.text,
    },
    { job_id: z.string() },
  ),
  AlterTableDropColumns: changeSchemas(
    { branch, columns: uniqueColumns(path, (one) => one) },
    { version: int64 },
  ),
  UpdateFieldMetadata: schemas(
    { branch, updates: uniqueColumns(fieldUpdate, (one) => one.path) },
    { version: int64, fields: z.record(z.string(), propertiesSchema).optional() },
  ),
}
