import type { Identifier, RequestOf, ResponseOf } from 'catalog-gateway/catalog-api'
import type { TablePoint } from '../../engine/table-point.ts'
import type { SchemaDialect } from '../../engine/schema/schema-dialect.ts'
import type { CatalogContext } from '../context/catalog-context.ts'
import { requireTable } from '../context/require-objects.ts'
import { hasData } from '../consistency/table-data.ts'
import { resolvePoint } from '../consistency/table-point.ts'

type Request = RequestOf<'DescribeTable'>
type Response = ResponseOf<'DescribeTable'>

/**
 * Returns version, schema and statistics only with `load_detailed_metadata` and data. Credentials are included unless
 * the request declines them. Throws TableNotFound (404), and like `resolvePoint` and `getClientOptions`.
 */
export async function describeTable(
  context: CatalogContext,
  id: Identifier,
  request: Request,
  dialect: SchemaDialect,
): Promise<Response> {
  const table = await requireTable(context.database, id)
  const needsDataState = request.load_detailed_metadata || request.check_declared || namesVersion(request)
  const tableHasData = needsDataState && (await hasData(context, table))
  const point = await resolvePoint(context, id, table, request)
  const { location } = point
  const storageOptions = await context.getClientOptions(location, request.vend_credentials !== false)
  return {
    table: id.at(-1) ?? '',
    namespace: id.slice(0, -1),
    location,
    ...(request.with_table_uri ? { table_uri: context.storage.toUri(location) } : {}),
    ...(request.load_detailed_metadata && tableHasData ? await describeData(context, point, dialect) : {}),
    properties: { ...table.properties },
    managed_versioning: true,
    ...(storageOptions && { storage_options: storageOptions }),
    ...(request.check_declared ? { is_only_declared: !tableHasData } : {}),
  }
}

/** Throws TableNotFound, or like `resolvePoint` if the request names a point (404). */
export async function requireTableExists(
  context: CatalogContext,
  id: Identifier,
  request: RequestOf<'TableExists'>,
): Promise<void> {
  const table = await requireTable(context.database, id)
  if (request.version !== undefined) await hasData(context, table)
  await resolvePoint(context, id, table, request)
}

function namesVersion({ version, tag }: Request): boolean {
  return version !== undefined || tag !== undefined
}

async function describeData(
  context: CatalogContext,
  point: TablePoint,
  dialect: SchemaDialect,
): Promise<Pick<Response, 'version' | 'schema' | 'metadata' | 'stats'>> {
  const description = await context.engine.describe(point.location, { ...point, includeStats: true })
  return {
    version: description.version,
    schema: description.schema(dialect),
    metadata: { ...description.metadata },
    ...(description.stats === undefined
      ? {}
      : {
          stats: {
            num_deleted_rows: description.stats.numDeletedRows,
            num_fragments: description.stats.numFragments,
          },
        }),
  }
}
