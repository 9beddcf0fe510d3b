import { z } from 'zod'
import { optional, paging, properties, request, response } from './members.ts'
import { operations } from '../operations.ts'
import { mode } from './modes.ts'

/** The members of ListTables and of ListAllTables. */
const listTables = {
  request: request({
    ...paging,
    include_declared: z
      .boolean()
      .nullish()
      .transform((value) => value ?? true),
  }),
  response: response({ tables: z.array(z.string()), page_token: z.string().optional() }),
}

/** The schemas of the operations on namespaces and of the listings (interface sections 2.2 and 2.3). */
export const namespaceSchemas = {
  CreateNamespace: {
    request: request({
      mode: mode(operations.CreateNamespace.modes),
      properties: optional(properties),
    }),
    response: response({ properties }),
  },
  ListNamespaces: {
    request: request(paging),
    response: response({
      namespaces: z.array(z.string()),
      page_token: z.string().optional(),
    }),
  },
  DescribeNamespace: {
    request: request({}),
    response: response({ properties }),
  },
  NamespaceExists: {
    request: request({}),
  },
  DropNamespace: {
    request: request({
      mode: mode(operations.DropNamespace.modes),
      behavior: mode(operations.DropNamespace.behaviors),
    }),
    response: response({ properties: properties.optional() }),
  },
  ListTables: listTables,
  ListAllTables: listTables,
}
