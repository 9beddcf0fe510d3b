import { z } from 'zod'
import { flag, int64, optional, paging, properties, request, response } from './members.ts'
import { oneOf } from './modes.ts'

/** A version of a table: its manifest is an object-store key without a leading slash (interface section 7.4). */
const tableVersion = z.object({
  version: int64,
  manifest_path: z.string(),
  manifest_size: int64.optional(),
  e_tag: z.string().optional(),
  timestamp_millis: int64.optional(),
  metadata: properties.optional(),
})

/**
 * The schemas of the operations on versions (interface section 2.4). In CreateTableVersion, `manifest_path` is the
 * staging manifest; without a naming scheme, its name tells.
 */
export const versionSchemas = {
  ListTableVersions: {
    request: request({
      branch: optional(z.string()),
      ...paging,
      descending: flag,
    }),
    response: response({
      versions: z.array(tableVersion),
      page_token: z.string().optional(),
    }),
  },
  CreateTableVersion: {
    request: request({
      version: int64,
      branch: optional(z.string()),
      manifest_path: z.string(),
      manifest_size: optional(int64),
      e_tag: optional(z.string()),
      metadata: optional(properties),
      naming_scheme: optional(oneOf(['V1', 'V2'])),
    }),
    response: response({ version: tableVersion }),
  },
  DescribeTableVersion: {
    request: request({
      version: optional(int64),
      branch: optional(z.string()),
    }),
    response: response({ version: tableVersion }),
  },
}
