import {
  CatalogError,
  columnName,
  type Identifier,
  invalidInput,
  quoteForMessage,
  type RequestOf,
  type ResponseOf,
} from 'catalog-gateway/catalog-api'
import { readSchemaStream } from 'catalog-gateway/lib'
import { insertView, type ViewSelection } from '../../database/materialized-views.ts'
import { toPath } from '../../database/objects.ts'
import { parseSelect, type SelectItem } from '../../engine/sql/parse-select.ts'
import type { CatalogContext } from '../context/catalog-context.ts'
import { requireNamespace } from '../context/require-objects.ts'
import { requirePoint } from '../consistency/table-point.ts'
import type { JobRunner } from '../jobs/job-runner.ts'
import { createTable } from '../tables/create-table.ts'
import { createRefreshJob } from './refresh-view.ts'
import { selectSchema } from './select-rows.ts'

type Request = RequestOf<'CreateMaterializedView'>

/**
 * Creates a table without rows that refreshes fill with the result of a query over one table; a job fills it at once if
 * `with_no_data` is false. `SELECT *` means the columns that the source has now. Throws TableNotFound and
 * NamespaceNotFound (404), TableAlreadyExists (409), InvalidInput (400), Unsupported (406), and ServiceUnavailable (503) if
 * too many jobs are unfinished; the view does not exist then.
 */
export async function createMaterializedView(
  context: CatalogContext,
  jobs: JobRunner,
  id: Identifier,
  request: Request,
): Promise<ResponseOf<'CreateMaterializedView'>> {
  const { query, outputSchema } = readDefinition(request)
  const { source, items, filter, limit } = parseSelect(query)
  await requireNamespace(context.database, id.slice(0, -1))
  const { table, point } = await requirePoint(context, source, {})
  const columns = await expandItems(context, point.location, items)
  const selection: ViewSelection = { columns, filter, limit }
  const schema = await selectSchema(context, point.location, selection)
  if (outputSchema !== undefined) assertSameColumns(outputSchema, columns)
  let jobId = ''
  const { version } = await createTable(
    context,
    id,
    { mode: 'Create' },
    schema,
    async (database, objectId) => {
      const view = { sourceObjectId: table.objectId, sourcePath: toPath(source), query, selection }
      await insertView(database, objectId, view)
      if (request.with_no_data) return
      const job = createRefreshJob('CreateMaterializedView', id, objectId, undefined)
      jobId = await jobs.queue(database, job)
    },
  )
  if (request.with_no_data) return { version }
  jobs.startJobs()
  return { version, job_id: jobId }
}

function readDefinition(request: Request): { query: string; outputSchema: string | undefined } {
  if ('query' in request) return { query: request.query, outputSchema: undefined }
  if (request.kind !== 'query') {
    const message = `a view of the kind ${request.kind} is not supported; this catalog runs no functions of callers`
    throw new CatalogError('Unsupported', message)
  }
  if (request.udtf_spec !== undefined) throw invalidInput('udtf_spec requires the kind udtf or chunker')
  if (request.auto_refresh) {
    throw new CatalogError('Unsupported', 'auto_refresh is not supported by this catalog; refresh the view')
  }
  return { query: request.source_query, outputSchema: request.output_schema }
}

async function expandItems(
  context: CatalogContext,
  location: string,
  items: readonly SelectItem[],
): Promise<ViewSelection['columns']> {
  const names = await context.engine.columns.names({ location })
  const all = names.map((name) => [name, `\`${name.replaceAll('`', '``')}\``] as const)
  const columns = items.flatMap((item) => (item === '*' ? all : [[item.name, item.expression] as const]))
  for (const [index, [name]] of columns.entries()) {
    const problem = columnName.safeParse(name).error?.issues[0]
    if (problem !== undefined)
      throw invalidInput(`invalid name ${quoteForMessage(name)} of a column of the view: ${problem.message}`)
    if (columns.findIndex(([other]) => other === name) !== index)
      throw invalidInput(`the view has two columns ${quoteForMessage(name)}`)
  }
  return columns
}

/** Throws InvalidInput unless a schema in base64 has the names of the columns, in their order. */
function assertSameColumns(outputSchema: string, columns: ViewSelection['columns']): void {
  const schema = readSchemaStream(Buffer.from(outputSchema, 'base64'))
  if (schema === undefined) throw invalidInput('output_schema is no Arrow schema in base64')
  const declared = schema.fields.map(({ name }) => name)
  const selected = columns.map(([name]) => name)
  if (JSON.stringify(declared) === JSON.stringify(selected)) return
  throw invalidInput(
    `output_schema has the columns ${quoteForMessage(declared.join(', '))}, but the query ${quoteForMessage(selected.join(', '))}`,
  )
}
