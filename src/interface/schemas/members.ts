import { z } from 'zod'

/**
 * A member that may be left out. Clients also send `null` for what they leave out (interface section 8.3), so
 * both are read as absent.
 */
export function optional<Member extends z.ZodType>(member: Member) {
  return member.nullish().transform((value) => value ?? undefined)
}

/** A flag that is false unless it is sent. */
export const flag = z
  .boolean()
  .nullish()
  .transform((value) => value ?? false)

/**
 * A count, a size or a version: an i64 of the interface that is not negative. Beyond 2^53 - 1 a JSON number is
 * no longer exact in every reader, so such a number is refused, never rounded.
 */
export const int64 = z.int('expected an integer from 0 to 9007199254740991').min(0)

/** Free-form pairs of a namespace or a table. */
export const properties = z.record(z.string(), z.string())

/** A map as a query parameter carries it: JSON text. */
export const propertiesText = z.string().transform((text, context) => {
  try {
    return properties.parse(JSON.parse(text))
  } catch {
    context.addIssue({ code: 'custom', message: 'expected JSON text of an object whose values are strings' })
    return z.NEVER
  }
})

/** An id in list form: its parts from the root down. */
export const identifier = z.array(z.string())

/** The last name of the page before; absent or empty at the start. */
const pageToken = optional(z.string())

/** The paging members of a list request; `limit` is the most entries that one page may hold. */
export const paging = { page_token: pageToken, limit: optional(int64) }

/** What every response may carry: values for the caller. */
const responseContext = { context: properties.optional() }

/** A response: the members of the operation, and the envelope that all responses share. */
export function response<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.object({ ...shape, ...responseContext })
}

/**
 * A request: the members of the operation, and the envelope that all requests share (interface section 2.1).
 * `identity` and `context` are answered for by headers; `id` must equal the route. Other members are ignored.
 */
export function request<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.object({
    id: optional(identifier),
    identity: optional(z.object({ api_key: optional(z.string()), auth_token: optional(z.string()) })),
    context: optional(properties),
    ...shape,
  })
}
