import { z } from 'zod'
import { flag, int64, optional, paging, properties, request, response } from './members.ts'
import { oneOf } from './modes.ts'

/** A version of a table: its manifest is an object-store key without a leading slash (interface section 7.4). */
export const tableVersion = z.object({
  version: int64,
  manifest_path: z.string(),
  manifest_size: int64.optional(),
  e_tag: z.string().optional(),
  timestamp_millis: int64.optional(),
  /** The same time as RFC 3339 text, as before interface 0.5: released remote clients demand it. */
  timestamp: z.string().optional(),
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
  RestoreTable: {
    request: request({ version: int64, branch: optional(z.string()) }),
    response: response({}),
  },
  BatchDeleteTableVersions: {
    request: request({
      branch: optional(z.string()),
      ranges: z.array(
        z.object({
          start_version: int64,
          end_version: z.int('expected a version, or -1 for the end').min(-1),
        }),
      ),
    }),
    response: response({ deleted_count: int64 }),
  },
}
