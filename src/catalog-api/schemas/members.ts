import { z } from 'zod'

/**
 * A member that may be left out. Clients also send `null` for what they leave out (interface section 8.3), so
 * both are read as absent.
 */
export function optionalMember<Member extends z.ZodType>(member: Member) {
  return member.nullish().transform((value) => value ?? undefined)
}

/** A flag that is false unless it is sent. */
export const flagMember = z
  .boolean()
  .nullish()
  .transform((value) => value ?? false)

/**
 * A count, a size or a version: an i64 of the interface that is not negative. Beyond 2^53 - 1 a JSON number is
 * no longer exact in every reader, so such a number is refused, never rounded.
 */
export const int64 = z.int('expected an integer from 0 to 9007199254740991').min(0)

/** Free-form pairs of a namespace or a table. */
export const propertiesSchema = z.record(z.string(), z.string())

/** A map as a query parameter carries it: JSON text. */
export const propertiesTextSchema = z.string().transform((text, context) => {
  try {
    return propertiesSchema.parse(JSON.parse(text))
  } catch {
    context.addIssue({ code: 'custom', message: 'expected JSON text of an object whose values are strings' })
    return z.NEVER
  }
})

/** An id in list form: its parts from the root down. */
export const identifierSchema = z.array(z.string())

/** The last name of the page before; absent or empty at the start. */
const pageToken = optionalMember(z.string())

/** The paging members of a list request; `limit` is the most entries that one page may hold. */
export const pagingMembers = { page_token: pageToken, limit: optionalMember(int64) }

/** What every response may carry: values for the caller. */
const responseContext = { context: propertiesSchema.optional() }

/** A response: the members of the operation, and the envelope that all responses share. */
export function responseSchema<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.object({ ...shape, ...responseContext })
}

/**
 * A request: the members of the operation, and the envelope that all requests share (interface section 2.1).
 * `identity` and `context` are answered for by headers; `id` must equal the route. Other members are ignored.
 */
export function requestSchema<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.object({
    id: optionalMember(identifierSchema),
    identity: optionalMember(
      z.object({ api_key: optionalMember(z.string()), auth_token: optionalMember(z.string()) }),
    ),
    context: optionalMember(propertiesSchema),
    ...shape,
  })
}
