import { z } from 'zod'
import {
  flagMember,
  int64,
  optionalMember,
  pagingMembers,
  propertiesSchema,
  requestSchema,
  changeResponseSchema,
  responseSchema,
} from './members.ts'
import { caseInsensitiveEnum } from './modes.ts'

/** A table version. Its manifest is an object-store key without a leading slash. */
export const tableVersionSchema = z
  .object({
    version: int64,
    manifest_path: z.string(),
    manifest_size: int64.optional(),
    e_tag: z.string().optional(),
    timestamp_millis: int64.optional(),
    /** The same time as RFC 3339 text, as before interface 0.5: released remote clients require it. */
    timestamp: z.string().optional(),
    metadata: propertiesSchema.optional(),
  })
  .meta({ id: 'TableVersion' })

const versionRange = z
  .object({ start_version: int64, end_version: z.int('expected a version, or -1 for the end').min(-1) })
  .meta({ id: 'VersionRange' })

/** In CreateTableVersion, `manifest_path` is the staging manifest; its name determines the scheme if none is sent. */
export const versionSchemas = {
  ListTableVersions: {
    request: requestSchema({
      branch: optionalMember(z.string()),
      ...pagingMembers,
      descending: flagMember,
    }),
    response: responseSchema({
      versions: z.array(tableVersionSchema),
      page_token: z.string().optional(),
    }),
  },
  CreateTableVersion: {
    request: requestSchema({
      version: int64,
      branch: optionalMember(z.string()),
      manifest_path: z.string(),
      manifest_size: optionalMember(int64),
      e_tag: optionalMember(z.string()),
      metadata: optionalMember(propertiesSchema),
      naming_scheme: optionalMember(caseInsensitiveEnum(['V1', 'V2'])),
    }),
    response: changeResponseSchema({ version: tableVersionSchema.optional() }).meta({
      id: 'CreateTableVersionResponse',
    }),
  },
  DescribeTableVersion: {
    request: requestSchema({
      version: optionalMember(int64),
      branch: optionalMember(z.string()),
    }),
    response: responseSchema({ version: tableVersionSchema }),
  },
  RestoreTable: {
    request: requestSchema({ version: int64, branch: optionalMember(z.string()) }),
    response: changeResponseSchema({}),
  },
  BatchDeleteTableVersions: {
    request: requestSchema({
      branch: optionalMember(z.string()),
      ranges: z.array(versionRange),
    }),
    response: changeResponseSchema({ deleted_count: int64.optional() }).meta({
      id: 'BatchDeleteTableVersionsResponse',
    }),
  },
}
