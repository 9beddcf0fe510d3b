import type { CatalogDatabase } from './database-schema.ts'

/** The rows of a view: computed columns of the rows of its source that pass the filter, at most `limit`. */
export interface ViewSelection {
  readonly columns: readonly (readonly [name: string, expression: string])[]
  readonly filter: string | undefined
  readonly limit: number | undefined
}

export interface MaterializedView {
  readonly sourceObjectId: string
  /** Of the source when the view was created. */
  readonly sourcePath: string
  /** As sent. */
  readonly query: string
  readonly selection: ViewSelection
}

/** Must run in the transaction that makes the table of the view visible. */
export async function insertView(
  database: CatalogDatabase,
  objectId: string,
  view: MaterializedView,
): Promise<void> {
  await database
    .insertInto('materialized_views')
    .values({
      object_id: objectId,
      source_object_id: view.sourceObjectId,
      source_path: view.sourcePath,
      query: view.query,
      selection: JSON.stringify(view.selection),
    })
    .execute()
}

export async function findView(
  database: CatalogDatabase,
  objectId: string,
): Promise<MaterializedView | undefined> {
  const row = await database
    .selectFrom('materialized_views')
    .selectAll()
    .where('object_id', '=', objectId)
    .executeTakeFirst()
  return (
    row && {
      sourceObjectId: row.source_object_id,
      sourcePath: row.source_path,
      query: row.query,
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by insertView
      selection: JSON.parse(row.selection) as ViewSelection,
    }
  )
}

/** Returns whether a view has that path. */
export async function isView(database: CatalogDatabase, path: string): Promise<boolean> {
  const found = await database
    .selectFrom('objects')
    .innerJoin('materialized_views', 'materialized_views.object_id', 'objects.object_id')
    .select('objects.object_id')
    .where('objects.path', '=', path)
    .executeTakeFirst()
  return found !== undefined
}
