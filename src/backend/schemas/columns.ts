import { z } from 'zod'
import { functionOutput, functionReference } from './functions.ts'
import { jsonArrowDataType, jsonArrowSchema, type JsonArrowDataType } from './json-arrow-schema.ts'
import {
  branch,
  changeSchemas,
  every,
  int64,
  maybe,
  model,
  optional,
  propertiesSchema,
  schemas,
  uniqueList,
} from './members.ts'

const path = z.string().min(1)

/** Columns that every table has without listing them in its schema. */
const systemColumn = /^_row(id|addr|offset|_created_at_version|_last_updated_at_version)$/i

/** The name of a new column. */
export const columnName = path
  .refine((name) => !/[.`]/.test(name), 'expected a name without "." and backticks')
  .refine((name) => !systemColumn.test(name), 'expected a name that is not one of the system columns')

const typeName = path.transform((type): JsonArrowDataType => ({ type }))

/** The JSON of a type, as the remote client of LanceDB sends it; or its name, as Lance accepts it. */
const dataType = z.union(
  [jsonArrowDataType, typeName],
  'expected the name of a type, or an object {type, length, fields}',
)

const virtualColumnOutput = model('AddVirtualColumnOutputEntry', {
  ...every(z.string(), 'column', 'struct_field'),
  data_type: dataType,
  nullable: z.boolean(),
  metadata: optional.properties,
})

/** The code that computes a virtual column, in base64, and its environment. */
const virtualColumnCode = {
  ...every(optional.text, 'udf_backend', 'manifest'),
  auto_backfill: optional.flag,
  manifest_checksum: optional.text.describe('The SHA-256 of the manifest.'),
  field_metadata: optional.properties,
}

const addedVirtualColumn = model('AddVirtualColumnEntry', {
  input_columns: z.array(z.string()),
  outputs: z.array(virtualColumnOutput),
  udf: z.string().describe('Pickled code in base64.'),
  ...every(z.string(), 'image', 'udf_name', 'udf_version'),
  ...virtualColumnCode,
})

const changedVirtualColumn = model('AlterVirtualColumnEntry', {
  input_columns: optional.texts,
  udf: optional.text.describe('Pickled code in base64.'),
  ...every(optional.text, 'image', 'udf_name', 'udf_version'),
  ...virtualColumnCode,
})

const functionApplication = model('FunctionApplication', {
  function: functionReference,
  // The path of a column, or a constant: any value that the function takes.
  inputs: z.array(z.object({ ...every(z.string(), 'parameter', 'kind'), value: z.unknown() })),
  output: functionOutput,
  columns: maybe.properties,
  initialization: z.record(z.string(), z.unknown()).optional(),
})

const inputBinding = z.object({
  ...every(z.string(), 'parameter', 'field_path', 'arrow_type'),
  nullable: z.boolean(),
})

/** The registered function that computes a column, with the arguments and columns of this application. */
const functionColumns = model('FunctionColumns', {
  application: functionApplication,
  binding_metadata_version: int64,
  input_bindings: z.array(inputBinding),
  ...every(jsonArrowSchema, 'input_schema', 'output_schema'),
  outputs: z.array(z.object({ ...every(z.string(), 'result_field', 'output_name'), output_ordinal: int64 })),
})

const newColumn = model('AddColumnsEntry', {
  name: columnName,
  expression: optional.text,
  computed: optional.of(path),
  /** For the columns of a function, as the remote client of LanceDB sends them. */
  all_null: optional.flag,
  virtual_column: optional.of(addedVirtualColumn),
})

const alteration = z
  .object({
    path,
    rename: optional.of(columnName),
    nullable: optional.flag,
    data_type: optional.of(dataType),
    virtual_column: optional.of(changedVirtualColumn),
  })
  .refine(
    ({ path: _path, ...changes }) => Object.values(changes).some((change) => change !== undefined),
    'expected rename, nullable or data_type',
  )
  .meta({ id: 'AlterColumnsEntry' })

const fieldUpdate = model('UpdateFieldMetadataEntry', {
  path,
  metadata: z.record(z.string(), z.string().nullable()),
  replace: optional.flag,
})

const version = int64

/**
 * A path is a column or a nested field: names joined by `.`, in backticks if they contain one. Field metadata is merged
 * unless `replace` is set; null removes a key.
 */
export const columnSchemas = {
  AlterTableAddColumns: schemas(
    {
      branch,
      new_columns: uniqueList(newColumn, ({ name }) => name),
      function: optional.of(functionColumns),
      auto_refresh_enabled: optional.flag,
      auto_refresh_interval_seconds: optional.count,
    },
    { version },
  ),
  AlterTableAlterColumns: schemas(
    { branch, alterations: uniqueList(alteration, (one) => one.path) },
    { version },
  ),
  AlterTableBackfillColumns: schemas(
    {
      branch,
      column: path,
      where: optional.text,
      read_version: optional.count,
      ...every(optional.count, 'concurrency', 'intra_applier_concurrency', 'task_size', 'num_frags'),
      ...every(optional.count, 'min_checkpoint_size', 'max_checkpoint_size', 'checkpoint_size'),
      commit_granularity: optional.count,
      batch_checkpoint_flush_interval_seconds: optional.number,
      ...every(optional.text, 'cluster', 'manifest'),
    },
    { job_id: z.string() },
  ),
  AlterTableDropColumns: changeSchemas({ branch, columns: uniqueList(path, (one) => one) }, { version }),
  UpdateFieldMetadata: schemas(
    { branch, updates: uniqueList(fieldUpdate, (one) => one.path) },
    { version, fields: z.record(z.string(), propertiesSchema).optional() },
  ),
}
