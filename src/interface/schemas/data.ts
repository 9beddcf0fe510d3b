import { z } from 'zod'
import { int64, optional, request, response } from './members.ts'
import { operations } from '../operations.ts'
import { mode } from './modes.ts'

/**
 * The schemas of the operations on rows (interface section 2.5). The members of InsertIntoTable all stand in the
 * query of the route: its body is an Arrow stream. The answer of CountTableRows is the integer alone.
 */
export const dataSchemas = {
  InsertIntoTable: {
    request: request({
      branch: optional(z.string()),
      mode: mode(operations.InsertIntoTable.modes),
    }),
    response: response({ version: int64, num_inserted_rows: int64 }),
  },
  CountTableRows: {
    request: request({
      version: optional(int64),
      branch: optional(z.string()),
      predicate: optional(z.string()),
    }),
    response: int64,
  },
}
