import { z } from 'zod'
import { optional, properties, request, response } from './members.ts'
import { mode, oneOf } from './modes.ts'

const status = oneOf(['Queued', 'Running', 'Succeeded', 'Failed', 'Canceled'])

/** One alteration: exactly one of the three. The names are camelCase in the interface, too. */
const action = z
  .object({
    setStatusAction: optional(z.object({ status })),
    setPropertyAction: optional(
      z.object({
        key: z.string().min(1),
        value: z.string(),
        mode: mode(['Overwrite', 'Fail', 'Skip']),
      }),
    ),
    unsetPropertyAction: optional(z.object({ key: z.string().min(1), mode: mode(['Skip', 'Fail']) })),
  })
  .refine(
    (members) => Object.values(members).filter((member) => member !== undefined).length === 1,
    'expected exactly one of setStatusAction, setPropertyAction, unsetPropertyAction',
  )

const described = response({ status, properties })

/** The schemas of the operations on transactions (interface section 2.8). */
export const transactionSchemas = {
  DescribeTransaction: { request: request({}), response: described },
  AlterTransaction: {
    request: request({ actions: z.array(action).min(1).max(1000) }),
    response: described,
  },
}
