import type { TableQuery } from '../../schemas/query.ts'
import type { Storage } from '../../storage/storage.ts'
import { type TablePoint, openTable, type EngineContext } from '../native/open-table.ts'
import { withCatalogErrors } from '../native/native-errors.ts'
import { toNativeQuery } from './native-query.ts'

/**
 * Opens the part of the engine that explains queries as human-readable text, without paths of this machine. The point
 * overrides any version or branch in the query.
 */
export function openPlans(context: EngineContext) {
  const prepare = async (point: TablePoint, query: TableQuery) =>
    toNativeQuery(await openTable(context, point), context.native.JsFullTextQuery, query)
  return withCatalogErrors({
    explain: async (point: TablePoint, query: TableQuery, verbose: boolean): Promise<string> =>
      removePaths(context.storage, await (await prepare(point, query)).explainPlan(verbose), point.location),
    analyze: async (point: TablePoint, query: TableQuery): Promise<string> =>
      removePaths(context.storage, await (await prepare(point, query)).analyzePlan(), point.location),
  })
}

/** Plans spell the location as an object-store key; an unknown spelling is removed completely. */
function removePaths(storage: Storage, plan: string, location: string): string {
  const key = storage.toKey(location)
  const spellings = [location, encodeURI(location), key, encodeURI(key)]
  let text = plan
  for (const spelling of spellings) text = text.replaceAll(spelling, '<table>')
  return text.replaceAll(/\buri=(?!<table>)[^,\]\n]*/g, 'uri=<path>')
}
