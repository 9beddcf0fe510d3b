import { z } from 'zod'
import { optionalMember, propertiesSchema, requestSchema, responseSchema } from './members.ts'
import { modeMember, caseInsensitiveEnum } from './modes.ts'

const status = caseInsensitiveEnum(['Queued', 'Running', 'Succeeded', 'Failed', 'Canceled'])

const action = z
  .object({
    setStatusAction: optionalMember(z.object({ status })),
    setPropertyAction: optionalMember(
      z.object({
        key: z.string().min(1),
        value: z.string(),
        mode: modeMember(['Overwrite', 'Fail', 'Skip']),
      }),
    ),
    unsetPropertyAction: optionalMember(
      z.object({ key: z.string().min(1), mode: modeMember(['Skip', 'Fail']) }),
    ),
  })
  .refine(
    (members) => Object.values(members).filter((member) => member !== undefined).length === 1,
    'expected exactly one of setStatusAction, setPropertyAction, unsetPropertyAction',
  )

const described = responseSchema({ status, properties: propertiesSchema })

export const transactionSchemas = {
  DescribeTransaction: { request: requestSchema({}), response: described },
  AlterTransaction: {
    request: requestSchema({ actions: z.array(action).min(1).max(1000) }),
    response: described,
  },
}
