import { z } from 'zod'
import { operations } from 'catalog-gateway/catalog-api'
import {
  changeSchemas,
  flagWithDefault,
  maybe,
  modeMember,
  optional,
  pageSchemas,
  requestSchema,
  responseSchema,
  schemas,
} from './members.ts'

/** Members of ListTables and ListAllTables. */
const listTables = pageSchemas({ include_declared: flagWithDefault(true) }, { tables: z.array(z.string()) })

const { properties } = maybe
const { CreateNamespace, DropNamespace } = operations

export const namespaceSchemas = {
  CreateNamespace: changeSchemas(
    { mode: modeMember(CreateNamespace.modes), properties: optional.properties },
    { properties },
  ),
  ListNamespaces: pageSchemas({}, { namespaces: z.array(z.string()) }),
  DescribeNamespace: schemas({}, { properties }),
  NamespaceExists: { request: requestSchema({}) },
  DropNamespace: {
    request: requestSchema({
      mode: modeMember(DropNamespace.modes),
      behavior: modeMember(DropNamespace.behaviors),
    }),
    response: responseSchema({ properties, transaction_id: maybe.texts }),
  },
  ListTables: listTables,
  ListAllTables: listTables,
}
