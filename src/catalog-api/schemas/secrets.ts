import { z } from 'zod'
import { int64, pagingMembers, requestSchema, responseSchema } from './members.ts'

const name = z.string()
const value = z.string()

/** No response has the value of a secret. */
export const secretSchemas = {
  CreateSecret: { request: requestSchema({ value }), response: responseSchema({}) },
  AlterSecret: { request: requestSchema({ value }), response: responseSchema({}) },
  DescribeSecret: {
    request: requestSchema({}),
    response: responseSchema({ name, created_at_millis: int64, updated_at_millis: int64 }),
  },
  DropSecret: { request: requestSchema({}), response: responseSchema({}) },
  ListSecrets: {
    request: requestSchema(pagingMembers),
    response: responseSchema({
      secrets: z.array(z.object({ name }).meta({ id: 'ListedSecret' })),
      page_token: z.string().optional(),
    }),
  },
}
