import { z } from 'zod'

/** Clients also send `null` for absent members, so both are parsed as absent. */
export function optionalMember<Member extends z.ZodType>(member: Member) {
  return member.nullish().transform((value) => value ?? undefined)
}

/** A flag that defaults to false. */
export const flagMember = z
  .boolean()
  .nullish()
  .transform((value) => value ?? false)

/**
 * A non-negative i64: a count, a size or a version. Numbers above 2^53 - 1 are inexact in some readers, so they are
 * refused, never rounded.
 */
export const int64 = z.int('expected an integer from 0 to 9007199254740991').min(0)

export const propertiesSchema = z.record(z.string(), z.string())

/** A map as a query parameter: JSON text. */
export const propertiesTextSchema = z.string().transform((text, context) => {
  try {
    return propertiesSchema.parse(JSON.parse(text))
  } catch {
    context.addIssue({ code: 'custom', message: 'expected JSON text of an object whose values are strings' })
    return z.NEVER
  }
})

export const identifierSchema = z.array(z.string())

/** Last name of the previous page; absent or empty for the first page. */
const pageToken = optionalMember(z.string())

export const pagingMembers = { page_token: pageToken, limit: optionalMember(int64) }

const responseContext = { context: propertiesSchema.optional() }

export function responseSchema<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.object({ ...shape, ...responseContext })
}

/** The response to a change: some catalogs name the transaction that made it. */
export function changeResponseSchema<Shape extends z.ZodRawShape>(shape: Shape) {
  return responseSchema({ ...shape, transaction_id: z.string().optional() })
}

const identity = z
  .object({ api_key: optionalMember(z.string()), auth_token: optionalMember(z.string()) })
  .meta({ id: 'Identity' })

/** Headers carry `identity` and `context`; `id` must equal the route. Other members are refused. */
export function requestSchema<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.object({
    id: optionalMember(identifierSchema),
    identity: optionalMember(identity),
    context: optionalMember(propertiesSchema),
    ...shape,
  })
}
