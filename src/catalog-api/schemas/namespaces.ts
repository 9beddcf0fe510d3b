import { z } from 'zod'
import {
  optionalMember,
  pagingMembers,
  propertiesSchema,
  requestSchema,
  changeResponseSchema,
  responseSchema,
} from './members.ts'
import { operations } from '../operations.ts'
import { modeMember } from './modes.ts'

/** Members of ListTables and ListAllTables. */
const listTables = {
  request: requestSchema({
    ...pagingMembers,
    include_declared: z
      .boolean()
      .nullish()
      .transform((value) => value ?? true),
  }),
  response: responseSchema({ tables: z.array(z.string()), page_token: z.string().optional() }),
}

export const namespaceSchemas = {
  CreateNamespace: {
    request: requestSchema({
      mode: modeMember(operations.CreateNamespace.modes),
      properties: optionalMember(propertiesSchema),
    }),
    response: changeResponseSchema({ properties: propertiesSchema.optional() }),
  },
  ListNamespaces: {
    request: requestSchema(pagingMembers),
    response: responseSchema({
      namespaces: z.array(z.string()),
      page_token: z.string().optional(),
    }),
  },
  DescribeNamespace: {
    request: requestSchema({}),
    response: responseSchema({ properties: propertiesSchema.optional() }),
  },
  NamespaceExists: {
    request: requestSchema({}),
  },
  DropNamespace: {
    request: requestSchema({
      mode: modeMember(operations.DropNamespace.modes),
      behavior: modeMember(operations.DropNamespace.behaviors),
    }),
    response: responseSchema({
      properties: propertiesSchema.optional(),
      transaction_id: z.array(z.string()).optional(),
    }),
  },
  ListTables: listTables,
  ListAllTables: listTables,
}
