import { z } from 'zod'
import {
  flag,
  identifier,
  int64,
  optional,
  properties,
  propertiesText,
  request,
  response,
} from './members.ts'
import { operations } from '../operations.ts'
import { mode } from './modes.ts'

/** A type of an Arrow schema in JSON; the names of the types are in interface section 2.9. */
const jsonArrowDataType = z.object({
  type: z.string(),
  get fields() {
    return z.array(jsonArrowField).readonly().optional()
  },
  length: z.number().optional(),
})

const jsonArrowField = z.object({
  name: z.string(),
  get type() {
    return jsonArrowDataType
  },
  nullable: z.boolean(),
  metadata: properties.readonly().optional(),
})

z.globalRegistry.add(jsonArrowDataType, { id: 'JsonArrowDataType' })
z.globalRegistry.add(jsonArrowField, { id: 'JsonArrowField' })

const jsonArrowSchema = z.object({
  fields: z.array(jsonArrowField).readonly(),
  metadata: properties.readonly().optional(),
})

/** How a client reaches the data; it may hold credentials, which then end at `expires_at_millis` (section 7.2). */
const storageOptions = properties.readonly().optional()

/** A table that the catalog has no more: where its data was, or still is. */
const removedTable = response({
  id: identifier.readonly(),
  location: z.string(),
  properties,
})

/**
 * The schemas of the operations on tables as entries of the catalog (interface section 2.3). The members of
 * CreateTable all stand in the query of the route, or in headers: its body is an Arrow stream.
 */
export const tableSchemas = {
  CreateTable: {
    request: request({
      mode: mode(operations.CreateTable.modes),
      location: optional(z.string()),
      properties: optional(propertiesText),
      storage_options: optional(propertiesText),
    }),
    response: response({
      location: z.string(),
      version: int64.optional(),
      properties,
    }),
  },
  DeclareTable: {
    request: request({
      location: optional(z.string()),
      vend_credentials: optional(z.boolean()),
      properties: optional(properties),
    }),
    response: response({
      location: z.string(),
      properties,
      managed_versioning: z.boolean(),
      storage_options: storageOptions,
    }),
  },
  DescribeTable: {
    request: request({
      version: optional(int64),
      tag: optional(z.string()),
      branch: optional(z.string()),
      with_table_uri: flag,
      load_detailed_metadata: flag,
      check_declared: flag,
      vend_credentials: optional(z.boolean()),
    }),
    response: response({
      table: z.string(),
      namespace: identifier.readonly(),
      location: z.string(),
      table_uri: z.string().optional(),
      version: int64.optional(),
      schema: jsonArrowSchema.optional(),
      stats: z.object({ num_deleted_rows: int64, num_fragments: int64 }).optional(),
      metadata: properties.readonly().optional(),
      properties,
      managed_versioning: z.boolean(),
      storage_options: storageOptions,
      is_only_declared: z.boolean().optional(),
    }),
  },
  TableExists: { request: request({ version: optional(int64) }) },
  DropTable: {
    request: request({}),
    response: removedTable,
  },
  RegisterTable: {
    request: request({
      location: z.string(),
      mode: mode(operations.RegisterTable.modes),
      properties: optional(properties),
    }),
    response: response({ location: z.string(), properties }),
  },
  DeregisterTable: {
    request: request({}),
    response: removedTable,
  },
  RenameTable: {
    request: request({
      new_table_name: z.string(),
      new_namespace_id: optional(identifier),
    }),
    response: response({}),
  },
}
