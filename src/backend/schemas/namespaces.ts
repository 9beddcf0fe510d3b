import { z } from 'zod'
import { operations } from 'catalog-gateway/catalog-api'
import {
  changeSchemas,
  flagWithDefault,
  modeMember,
  optional,
  pageSchemas,
  pagingMembers,
  propertiesSchema,
  requestSchema,
  responseSchema,
  schemas,
} from './members.ts'

/** Members of ListTables and ListAllTables. */
const listTables = pageSchemas(
  { ...pagingMembers, include_declared: flagWithDefault(true) },
  { tables: z.array(z.string()) },
)

const properties = propertiesSchema.optional()
const { CreateNamespace, DropNamespace } = operations

export const namespaceSchemas = {
  CreateNamespace: changeSchemas(
    { mode: modeMember(CreateNamespace.modes), properties: optional.properties },
    { properties },
  ),
  ListNamespaces: pageSchemas(pagingMembers, { namespaces: z.array(z.string()) }),
  DescribeNamespace: schemas({}, { properties }),
  NamespaceExists: { request: requestSchema({}) },
  DropNamespace: {
    request: requestSchema({
      mode: modeMember(DropNamespace.modes),
      behavior: modeMember(DropNamespace.behaviors),
    }),
    response: responseSchema({ properties, transaction_id: z.array(z.string()).optional() }),
  },
  ListTables: listTables,
  ListAllTables: listTables,
}
