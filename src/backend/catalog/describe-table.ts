import { pathToFileURL } from 'node:url'
import { InterfaceError } from '../../interface/errors.ts'
import { show, type Identifier } from '../../interface/identifiers.ts'
import type { RequestOf, ResponseOf } from '../../interface/schemas/operation-schemas.ts'
import type { SchemaDialect } from '../engine/engine.ts'
import type { TableEntry } from '../store/objects.ts'
import { requireMainBranch } from './branches.ts'
import { locationOf, type Catalog } from './catalog.ts'
import { requireTable, showIdentifier } from './lookup.ts'
import { hasData } from './table-data.ts'

type Request = RequestOf<'DescribeTable'>
type Response = ResponseOf<'DescribeTable'>

/**
 * Where a table is, and with `load_detailed_metadata` what is in it: version, schema and statistics, never of a
 * table that is only declared. Throws TableNotFound or TableVersionNotFound (404).
 */
export async function describeTable(
  catalog: Catalog,
  id: Identifier,
  request: Request,
  dialect: SchemaDialect,
): Promise<Response> {
  requireMainBranch(request.branch)
  if (request.tag !== undefined) {
    throw new InterfaceError(
      'Unsupported',
      `the tag ${show(request.tag)} was named; this catalog has no tags yet`,
    )
  }
  const table = await requireTable(catalog.database, id)
  const location = locationOf(catalog, table)
  const asksForData =
    request.version !== undefined || request.load_detailed_metadata || request.check_declared
  const withData = asksForData && (await hasData(catalog, table))
  if (request.version !== undefined) await requireVersion(catalog, id, table, request.version)
  return {
    table: id.at(-1) ?? '',
    namespace: id.slice(0, -1),
    location,
    ...(request.with_table_uri ? { table_uri: pathToFileURL(location).href } : {}),
    ...(request.load_detailed_metadata && withData
      ? await describeData(catalog, location, request.version, dialect)
      : {}),
    properties: { ...table.properties },
    managed_versioning: true,
    ...(request.check_declared ? { is_only_declared: !withData } : {}),
  }
}

/** Throws TableNotFound or, when a version is asked for that the table has not, TableVersionNotFound (404). */
export async function requireTableExists(
  catalog: Catalog,
  id: Identifier,
  version: number | undefined,
): Promise<void> {
  const table = await requireTable(catalog.database, id)
  if (version !== undefined) await requireVersion(catalog, id, table, version)
}

async function requireVersion(
  catalog: Catalog,
  id: Identifier,
  table: TableEntry,
  version: number,
): Promise<void> {
  const stored = await catalog.manifests.describe(locationOf(catalog, table), version, undefined)
  if (stored !== undefined) return
  throw new InterfaceError(
    'TableVersionNotFound',
    `the table ${showIdentifier(id)} has no version ${version}`,
  )
}

async function describeData(
  catalog: Catalog,
  location: string,
  version: number | undefined,
  dialect: SchemaDialect,
): Promise<Pick<Response, 'version' | 'schema' | 'metadata' | 'stats'>> {
  const description = await catalog.engine.describe(location, { version, stats: true })
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
