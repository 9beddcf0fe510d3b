import type { Identifier, RequestOf } from 'catalog-gateway/catalog-api'
import type { TablePoint } from '../../engine/table-point.ts'
import type { CatalogContext } from '../context/catalog-context.ts'
import { requirePoint } from '../consistency/table-point.ts'

export async function explainTableQueryPlan(
  context: CatalogContext,
  id: Identifier,
  request: RequestOf<'ExplainTableQueryPlan'>,
): Promise<string> {
  const point = await requireQueryPoint(context, id, request)
  return await context.engine.plans.explain(point, request.query, request.verbose)
}

export async function analyzeTableQueryPlan(
  context: CatalogContext,
  id: Identifier,
  request: RequestOf<'AnalyzeTableQueryPlan'>,
): Promise<string> {
  const point = await requireQueryPoint(context, id, request)
  return await context.engine.plans.analyze(point, request.query)
}

async function requireQueryPoint(
  context: CatalogContext,
  id: Identifier,
  { branch, query }: RequestOf<'ExplainTableQueryPlan'>,
): Promise<TablePoint> {
  const { point } = await requirePoint(context, id, {
    branch: query.branch || branch,
    version: query.version,
  })
  return point
}
