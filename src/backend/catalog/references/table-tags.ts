import type { Identifier } from '../../../catalog-api/identifiers.ts'
import type { RequestOf, ResponseOf } from '../../../catalog-api/schemas/operation-schemas.ts'
import { tableLocation, type CatalogContext } from '../context/catalog-context.ts'
import { changeReferences } from '../consistency/change-references.ts'
import { requireTable } from '../context/lookup.ts'
import { pageByName } from '../context/page.ts'
import { resolvePoint, requireTag } from '../consistency/table-point.ts'

/** Lists the tags in the order of their names. The token is the last name. */
export async function listTableTags(
  catalog: CatalogContext,
  id: Identifier,
  request: RequestOf<'ListTableTags'>,
): Promise<ResponseOf<'ListTableTags'>> {
  const table = await requireTable(catalog.database, id)
  const all = [...(await catalog.engine.tags.list(tableLocation(catalog, table)))]
  const { entries, token } = pageByName(all, ([name]) => name, request)
  const tags = entries.map(([name, { version, manifestSize, branch }]) => [
    name,
    { version, manifestSize, ...(branch ? { branch } : {}) },
  ])
  return { tags: Object.fromEntries(tags), ...token }
}

/** Returns the version of a tag, and its branch unless that is main. Throws TableTagNotFound (404). */
export async function getTableTagVersion(
  catalog: CatalogContext,
  id: Identifier,
  { tag }: RequestOf<'GetTableTagVersion'>,
): Promise<ResponseOf<'GetTableTagVersion'>> {
  const table = await requireTable(catalog.database, id)
  const { version, branch } = await requireTag(catalog, tableLocation(catalog, table), tag)
  return { version, ...(branch ? { branch } : {}) }
}

/** Throws TableTagAlreadyExists (409), TableVersionNotFound or TableBranchNotFound (404). */
export async function createTableTag(
  catalog: CatalogContext,
  id: Identifier,
  { tag, version, branch }: RequestOf<'CreateTableTag'>,
): Promise<ResponseOf<'CreateTableTag'>> {
  return await changeReferences(catalog, id, async (table) => {
    const point = await resolvePoint(catalog, id, table, { version, branch })
    await catalog.engine.tags.create({ ...point, version }, tag)
    return {}
  })
}

/** Moves a tag to another version. Throws TableTagNotFound, and like `createTableTag`. */
export async function updateTableTag(
  catalog: CatalogContext,
  id: Identifier,
  { tag, version, branch }: RequestOf<'UpdateTableTag'>,
): Promise<ResponseOf<'UpdateTableTag'>> {
  return await changeReferences(catalog, id, async (table) => {
    await requireTag(catalog, tableLocation(catalog, table), tag)
    const point = await resolvePoint(catalog, id, table, { version, branch })
    await catalog.engine.tags.update({ ...point, version }, tag)
    return {}
  })
}

/** Deletes a tag, not its version. Throws TableTagNotFound (404). */
export async function deleteTableTag(
  catalog: CatalogContext,
  id: Identifier,
  { tag }: RequestOf<'DeleteTableTag'>,
): Promise<ResponseOf<'DeleteTableTag'>> {
  return await changeReferences(catalog, id, async (table) => {
    const location = tableLocation(catalog, table)
    await requireTag(catalog, location, tag)
    await catalog.engine.tags.delete(location, tag)
    return {}
  })
}
