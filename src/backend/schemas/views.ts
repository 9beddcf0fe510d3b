import { z } from 'zod'
import {
  every,
  maybe,
  model,
  optional,
  pageSchemas,
  requestSchema,
  responseSchema,
  schemas,
} from './members.ts'
import { jsonArrowSchema } from './json-arrow-schema.ts'

const query = z.string().min(1)

/** A function that computes the rows of a materialized view. */
const viewFunction = model('MaterializedViewUdtfEntry', {
  kind: z.enum(['udtf', 'chunker']),
  udtf: z.string().describe('A JSON envelope in base64.'),
  ...every(z.string(), 'udtf_sha', 'udtf_name', 'udtf_version'),
  input_columns: optional.texts,
  ...every(optional.text, 'partition_by', 'partition_by_indexed_column', 'manifest', 'manifest_checksum'),
  ...every(optional.number, 'num_cpus', 'num_gpus'),
  memory: optional.count,
  error_handling: optional.of(z.record(z.string(), z.unknown())),
  batch: optional.flag,
})

const declaredForm = requestSchema({
  kind: z.enum(['query', 'udtf', 'chunker']),
  source_query: query,
  output_schema: z.string().describe('An Arrow schema in base64.'),
  udtf_spec: optional.of(viewFunction),
  with_no_data: optional.flag,
  auto_refresh: optional.flag,
})

/** As the remote client of LanceDB sends it. */
const queryForm = requestSchema({ query, with_no_data: optional.flag })

const newMaterializedView = z.union(
  [declaredForm, queryForm],
  'expected kind, source_query and output_schema, or query',
)

const projection = model('MaterializedViewProjection', every(z.string(), 'output_column', 'expression'))

const view = {
  ...every(z.string(), 'name', 'query', 'default_database'),
  ...every(maybe.id, 'namespace', 'default_namespace'),
  schema: jsonArrowSchema,
}

/** Names directly in a namespace. */
const names = pageSchemas({}, { views: z.array(z.string()) })

/** If a job continues a drop, or fills a new view, the response contains its id. */
const job_id = maybe.text

export const viewSchemas = {
  CreateMaterializedView: {
    request: newMaterializedView,
    response: responseSchema({ version: maybe.count, job_id }),
  },
  RefreshMaterializedView: schemas(
    {
      ...every(optional.count, 'src_version', 'source_version', 'max_rows_per_fragment', 'output_limit'),
      ...every(optional.count, 'concurrency', 'intra_applier_concurrency', 'source_task_size'),
      ...every(optional.text, 'cluster', 'manifest', 'expected_incarnation'),
      full: optional.flag,
    },
    { job_id: z.string(), version: maybe.count },
  ),
  /** Without `query`, the definition consists of the other members. */
  DescribeMaterializedView: schemas(
    {},
    {
      source_table: z.string(),
      source_namespace: maybe.id,
      projections: z.array(projection).optional(),
      ...every(maybe.text, 'query', 'filter', 'incarnation'),
      limit: maybe.count,
    },
  ),
  DropMaterializedView: schemas({}, { job_id }),
  ListMaterializedViews: names,
  CreateView: schemas({ query }, view),
  DescribeView: schemas({}, view),
  DropView: schemas({}, { job_id }),
  ListViews: names,
}
