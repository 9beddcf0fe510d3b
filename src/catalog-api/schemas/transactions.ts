import { z } from 'zod'
import { optionalMember, propertiesSchema, requestSchema, responseSchema } from './members.ts'
import { modeMember, caseInsensitiveEnum } from './modes.ts'

const status = caseInsensitiveEnum(['Queued', 'Running', 'Succeeded', 'Failed', 'Canceled'])

const setStatus = z.object({ status }).meta({ id: 'AlterTransactionSetStatus' })

const setProperty = z
  .object({ key: z.string().min(1), value: z.string(), mode: modeMember(['Overwrite', 'Fail', 'Skip']) })
  .meta({ id: 'AlterTransactionSetProperty' })

const unsetProperty = z
  .object({ key: z.string().min(1), mode: modeMember(['Skip', 'Fail']) })
  .meta({ id: 'AlterTransactionUnsetProperty' })

const action = z
  .object({
    setStatusAction: optionalMember(setStatus),
    setPropertyAction: optionalMember(setProperty),
    unsetPropertyAction: optionalMember(unsetProperty),
  })
  .refine(
    (members) => Object.values(members).filter((member) => member !== undefined).length === 1,
    'expected exactly one of setStatusAction, setPropertyAction, unsetPropertyAction',
  )
  .meta({ id: 'AlterTransactionAction' })

const described = responseSchema({ status, properties: propertiesSchema.optional() })

export const transactionSchemas = {
  DescribeTransaction: { request: requestSchema({}), response: described },
  AlterTransaction: {
    request: requestSchema({ actions: z.array(action).min(1).max(1000) }),
    response: described,
  },
}
