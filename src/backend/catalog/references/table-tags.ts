import type { Identifier, RequestOf, ResponseOf } from 'catalog-gateway/catalog-api'
import { tableLocation, type CatalogContext } from '../context/catalog-context.ts'
import { changeReferences } from '../consistency/change-references.ts'
import { requireTable } from '../context/require-objects.ts'
import { pageByName } from '../context/page-by-name.ts'
import { resolvePoint, requireTag } from '../consistency/table-point.ts'

/** Lists the tags in the order of their names. The token is the last name. */
export async function listTableTags(
  context: CatalogContext,
  id: Identifier,
  request: RequestOf<'ListTableTags'>,
): Promise<ResponseOf<'ListTableTags'>> {
  const table = await requireTable(context.database, id)
  const all = [...(await context.engine.tags.list(tableLocation(context, table)))]
  const { entries, token } = pageByName(all, ([name]) => name, request)
  const tags = entries.map(([name, { version, manifestSize, branch }]) => [
    name,
    { version, manifestSize, ...(branch ? { branch } : {}) },
  ])
  return { tags: Object.fromEntries(tags), ...token }
}

/** Returns the version of a tag, and its branch unless that is main. Throws TableTagNotFound (404). */
export async function getTableTagVersion(
  context: CatalogContext,
  id: Identifier,
  { tag }: RequestOf<'GetTableTagVersion'>,
): Promise<ResponseOf<'GetTableTagVersion'>> {
  const table = await requireTable(context.database, id)
  const { version, branch } = await requireTag(context, tableLocation(context, table), tag)
  return { version, ...(branch ? { branch } : {}) }
}

/** Throws TableTagAlreadyExists (409), TableVersionNotFound or TableBranchNotFound (404). */
export async function createTableTag(
  context: CatalogContext,
  id: Identifier,
  { tag, version, branch }: RequestOf<'CreateTableTag'>,
): Promise<ResponseOf<'CreateTableTag'>> {
  return await changeReferences(context, id, async (table) => {
    const point = await resolvePoint(context, id, table, { version, branch })
    await context.engine.tags.create({ ...point, version }, tag)
    return {}
  })
}

/** Moves a tag to another version. Throws TableTagNotFound, and like `createTableTag`. */
export async function updateTableTag(
  context: CatalogContext,
  id: Identifier,
  { tag, version, branch }: RequestOf<'UpdateTableTag'>,
): Promise<ResponseOf<'UpdateTableTag'>> {
  return await changeReferences(context, id, async (table) => {
    await requireTag(context, tableLocation(context, table), tag)
    const point = await resolvePoint(context, id, table, { version, branch })
    await context.engine.tags.update({ ...point, version }, tag)
    return {}
  })
}

/** Deletes a tag, not its version. Throws TableTagNotFound (404). */
export async function deleteTableTag(
  context: CatalogContext,
  id: Identifier,
  { tag }: RequestOf<'DeleteTableTag'>,
): Promise<ResponseOf<'DeleteTableTag'>> {
  return await changeReferences(context, id, async (table) => {
    const location = tableLocation(context, table)
    await requireTag(context, location, tag)
    await context.engine.tags.delete(location, tag)
    return {}
  })
}
