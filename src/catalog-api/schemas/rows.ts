import { z } from 'zod'
import { int64, optionalMember, requestSchema, changeResponseSchema } from './members.ts'
import { operations } from '../operations.ts'
import { modeMember } from './modes.ts'

/** The members of InsertIntoTable are query parameters: its body is an Arrow stream. */
export const rowSchemas = {
  InsertIntoTable: {
    request: requestSchema({
      branch: optionalMember(z.string()),
      mode: modeMember(operations.InsertIntoTable.modes),
    }),
    response: changeResponseSchema({ version: int64.optional(), num_inserted_rows: int64.optional() }),
  },
  CountTableRows: {
    request: requestSchema({
      version: optionalMember(int64),
      branch: optionalMember(z.string()),
      predicate: optionalMember(z.string()),
    }),
    response: int64,
  },
}
