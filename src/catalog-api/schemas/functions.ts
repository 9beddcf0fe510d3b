import { z } from 'zod'
import { flagMember, optionalMember, pagingMembers, requestSchema, responseSchema } from './members.ts'

/** Code, types and environments have no schema here: only the catalog interprets them. */
const definition = z.record(z.string(), z.unknown())
const version = z.string().min(1)

const functionVersion = z
  .looseObject({
    name: z.string(),
    version,
    artifact: definition.optional(),
    signature: definition.optional(),
    runtime: definition.optional(),
    runtime_digest: z.string().optional(),
    environment_digest: z.string().optional(),
    created_at: z.string().optional(),
  })
  .meta({ id: 'FunctionVersion' })

export const functionSchemas = {
  CreateFunction: {
    request: requestSchema({
      artifact: definition,
      signature: definition,
      runtime: optionalMember(definition),
    }),
    response: responseSchema({ job_id: z.string() }),
  },
  DescribeFunction: { request: requestSchema({ version }), response: functionVersion },
  DropFunction: {
    request: requestSchema({ version }),
    response: responseSchema({ dropped: z.boolean(), job_id: z.string().optional() }),
  },
  ListFunctions: {
    request: requestSchema({ ...pagingMembers, include_definition: flagMember }),
    response: responseSchema({ functions: z.array(functionVersion), page_token: z.string().optional() }),
  },
}
