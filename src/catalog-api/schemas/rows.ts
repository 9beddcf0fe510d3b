import { z } from 'zod'
import { int64, optionalMember, requestSchema, changeResponseSchema, responseSchema } from './members.ts'
import { operations } from '../operations.ts'
import { modeMember } from './modes.ts'

const multipartWriteRequest = requestSchema({ branch: optionalMember(z.string()), upload_id: z.string() })

/** The members of InsertIntoTable are query parameters: its body is an Arrow stream. */
export const rowSchemas = {
  InsertIntoTable: {
    request: requestSchema({
      branch: optionalMember(z.string()),
      mode: modeMember(operations.InsertIntoTable.modes),
      upload_id: optionalMember(z.string()).describe(
        'Of a multipart write that the caller began on this table and branch: the rows are a part of it.',
      ),
      upload_part_id: optionalMember(z.string()).describe('Any text that no other part has.'),
    }),
    response: changeResponseSchema({ version: int64.optional(), num_inserted_rows: int64.optional() }),
  },
  CreateMultipartWrite: {
    request: requestSchema({ branch: optionalMember(z.string()) }),
    response: responseSchema({ upload_id: z.string() }),
  },
  CompleteMultipartWrite: {
    request: multipartWriteRequest,
    response: changeResponseSchema({ version: int64.optional() }),
  },
  AbortMultipartWrite: { request: multipartWriteRequest, response: responseSchema({}) },
  CountTableRows: {
    request: requestSchema({
      version: optionalMember(int64),
      branch: optionalMember(z.string()),
      predicate: optionalMember(z.string()),
    }),
    response: int64,
  },
}
