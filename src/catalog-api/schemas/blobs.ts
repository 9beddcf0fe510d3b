import { z } from 'zod'
import { int64, optionalMember, requestSchema } from './members.ts'

const version = optionalMember(int64)
const branch = optionalMember(z.string())

/** A nested column is a path with dots. The members of GetTableBlob are query parameters. */
export const blobSchemas = {
  FetchTableBlobs: {
    request: requestSchema({ version, branch, column: z.string().min(1), row_ids: z.array(int64) }),
  },
  /** `row_is_address`: whether the row id is the address of the row in the files of the dataset. */
  GetTableBlob: {
    request: requestSchema({
      version,
      branch,
      source_uri: optionalMember(z.string()),
      source_commit_micros: optionalMember(int64),
      row_is_address: optionalMember(z.boolean()),
    }),
  },
}
