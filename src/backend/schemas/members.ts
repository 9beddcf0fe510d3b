import { z } from 'zod'

function optionalMember<Member extends z.ZodType>(member: Member) {
  return member.nullish().transform((value) => value ?? undefined)
}

/** A flag that defaults to false. */
export const flagMember = flagWithDefault(false)

export function flagWithDefault(byDefault: boolean) {
  return z
    .boolean()
    .nullish()
    .transform((value) => value ?? byDefault)
}

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

/** Members that may be absent. Clients also send `null` for absent ones, so both are parsed as absent. */
export const optional = {
  of: optionalMember,
  text: optionalMember(z.string()),
  texts: optionalMember(z.array(z.string())),
  count: optionalMember(int64),
  flag: optionalMember(z.boolean()),
  properties: optionalMember(propertiesSchema),
}

/** `page_token` is the last name of the previous page; absent or empty for the first page. */
export const pagingMembers = { page_token: optional.text, limit: optional.count }

const responseContext = { context: propertiesSchema.optional() }

export function responseSchema<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.object({ ...shape, ...responseContext })
}

/** The response to a change: some catalogs name the transaction that made it. */
export function changeResponseSchema<Shape extends z.ZodRawShape>(shape: Shape) {
  return responseSchema({ ...shape, transaction_id: z.string().optional() })
}

const identity = z.object({ api_key: optional.text, auth_token: optional.text }).meta({ id: 'Identity' })

/** Headers carry `identity` and `context`; `id` must equal the route. Other members are refused. */
export function requestSchema<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.object({
    id: optional.of(identifierSchema),
    identity: optional.of(identity),
    context: optional.properties,
    ...shape,
  })
}

/** Creates the schemas of an operation from the members of its request and of a success. */
export function schemas<Request extends z.ZodRawShape, Response extends z.ZodRawShape>(
  request: Request,
  response: Response,
) {
  return { request: requestSchema(request), response: responseSchema(response) }
}

/** `schemas` of a change. */
export function changeSchemas<Request extends z.ZodRawShape, Response extends z.ZodRawShape>(
  request: Request,
  response: Response,
) {
  return { request: requestSchema(request), response: changeResponseSchema(response) }
}

/** `schemas` of a listing, whose response may have a token for the next page. */
export function pageSchemas<Request extends z.ZodRawShape, Response extends z.ZodRawShape>(
  request: Request,
  response: Response,
) {
  return schemas(request, { ...response, page_token: z.string().optional() })
}

/**
 * A PascalCase name of a closed set. Case is ignored; snake_case and the extra quotes of the LanceDB remote client
 * (`"\"ExistOk\""`) are accepted. Parsed to the name itself.
 */
export function caseInsensitiveEnum<const Names extends readonly [string, ...string[]]>(names: Names) {
  const spellings = new Map<string, Names[number]>()
  for (const name of names) {
    spellings.set(name.toLowerCase(), name)
    spellings.set(name.replaceAll(/(?<=.)[A-Z]/g, '_$&').toLowerCase(), name)
  }
  const spelling = z.string().describe(describeNames(names))
  return spelling.transform((text, context): Names[number] => {
    const found = spellings.get(unquoteMode(text).toLowerCase())
    if (found !== undefined) return found
    context.addIssue({ code: 'custom', message: `expected one of ${names.join(', ')}` })
    return z.NEVER
  })
}

/** A mode, spelled as `caseInsensitiveEnum` accepts it; the first name is the default. */
export function modeMember<const Names extends readonly [string, ...string[]]>(names: Names) {
  return caseInsensitiveEnum(names)
    .nullish()
    .describe(`${describeNames(names)} ${names[0]} unless it is sent.`)
    .transform((value): Names[number] => value ?? names[0])
}

/** Removes the extra quotes of the LanceDB remote client. */
function unquoteMode(text: string): string {
  return text.replace(/^"(.*)"$/s, '$1')
}

function describeNames(names: readonly string[]): string {
  return `One of ${names.join(', ')}; case and underscores do not matter.`
}
