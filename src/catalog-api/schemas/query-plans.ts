import { z } from 'zod'
import { flagMember, optionalMember, requestSchema } from './members.ts'
import { queryTableRequestSchema } from './query.ts'

/**
 * The query is the member `query` (ExplainTableQueryPlan, and older texts for AnalyzeTableQueryPlan) or the request
 * itself.
 */
function nestQuery(members: unknown, isQuery: (members: object) => boolean): unknown {
  if (typeof members !== 'object' || members === null) return members
  const query: unknown = Reflect.get(members, 'query')
  const isNested = typeof query === 'object' && query !== null
  return isNested || !isQuery(members) ? members : { ...members, query: { ...members, id: undefined } }
}

const planRequest = requestSchema({
  branch: optionalMember(z.string()),
  query: queryTableRequestSchema,
  verbose: flagMember,
}).refine(
  ({ branch, query }) => !branch || !query.branch || branch === query.branch,
  'expected one branch, not two',
)

export const planSchemas = {
  ExplainTableQueryPlan: {
    request: z.preprocess(
      (members) => nestQuery(members, (query) => 'k' in query || 'vector' in query),
      planRequest,
    ),
    response: z.string(),
  },
  AnalyzeTableQueryPlan: {
    request: z.preprocess((members) => nestQuery(members, () => true), planRequest),
    response: z.string(),
  },
}
