import { z } from 'zod'

type Shape = z.ZodRawShape

function optionalMember<Member extends z.ZodType>(member: Member) {
  return member.nullish().transform((value) => value ?? undefined)
}

export function flagWithDefault(byDefault: boolean) {
  return z
    .boolean()
    .nullish()
    .transform((value) => value ?? byDefault)
}

/** A flag that defaults to false. */
export const flagMember = flagWithDefault(false)

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

/** Members of requests that may be absent. Clients also send `null` for absent ones, so both are parsed as absent. */
export const optional = {
  of: optionalMember,
  text: optionalMember(z.string()),
  texts: optionalMember(z.array(z.string())),
  count: optionalMember(int64),
  number: optionalMember(z.number()),
  flag: optionalMember(z.boolean()),
  properties: optionalMember(propertiesSchema),
}

/** Without it: main. */
export const branch = optional.text

/** Members of responses, and of what only clients interpret, that may be absent. */
export const maybe = {
  text: z.string().optional(),
  texts: z.array(z.string()).optional(),
  id: identifierSchema.readonly().optional(),
  count: int64.optional(),
  flag: z.boolean().optional(),
  properties: propertiesSchema.optional(),
}

/** Members of one kind. */
export function every<Member extends z.ZodType, const Names extends readonly string[]>(
  member: Member,
  ...names: Names
) {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- has exactly these names
  return Object.fromEntries(names.map((name) => [name, member])) as Record<Names[number], Member>
}

/** An object that has a name in the OpenAPI document, which others refer to. */
export function model<Members extends Shape>(id: string, members: Members) {
  return z.object(members).meta({ id })
}

const identity = model('Identity', every(optional.text, 'api_key', 'auth_token'))

/** Headers carry `identity` and `context`; `id` must equal the route. Other members are refused. */
export function requestSchema<Members extends Shape>(members: Members) {
  return z.object({
    id: optional.of(identifierSchema),
    identity: optional.of(identity),
    context: optional.properties,
    ...members,
  })
}

export function responseSchema<Members extends Shape>(members: Members) {
  return z.object({ ...members, context: maybe.properties })
}

/** The response to a change: some catalogs name the transaction that made it. */
export function changeResponseSchema<Members extends Shape>(members: Members) {
  return responseSchema({ ...members, transaction_id: maybe.text })
}

/** Creates the schemas of an operation from the members of its request and of a success. */
export function schemas<Request extends Shape, Response extends Shape>(request: Request, response: Response) {
  return { request: requestSchema(request), response: responseSchema(response) }
}

/** `schemas` of a change. `id` is the name of a response in the OpenAPI document that others refer to. */
export function changeSchemas<Request extends Shape, Response extends Shape>(
  request: Request,
  response: Response,
  id?: string,
) {
  const schema = changeResponseSchema(response)
  return { request: requestSchema(request), response: id === undefined ? schema : schema.meta({ id }) }
}

/** `page_token` is the last name of the previous page; absent or empty for the first page. */
export const pagingMembers = { page_token: optional.text, limit: optional.count }

/** `schemas` of a listing, whose request may ask for a page, and whose response may have a token for the next one. */
export function pageSchemas<Request extends Shape, Response extends Shape>(
  request: Request,
  response: Response,
) {
  return schemas({ ...request, ...pagingMembers }, { ...response, page_token: maybe.text })
}

/** A text that `normalize` turns into a spelling of a value; it is parsed to the value. */
export function spelledValue<Value>(
  spellings: ReadonlyMap<string, Value>,
  expected: readonly string[],
  normalize: (text: string) => string,
  description?: string,
) {
  const spelling = description === undefined ? z.string() : z.string().describe(description)
  return spelling.transform((text, context): Value => {
    const found = spellings.get(normalize(text))
    if (found !== undefined) return found
    context.addIssue({ code: 'custom', message: `expected one of ${expected.join(', ')}` })
    return z.NEVER
  })
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
  return spelledValue(spellings, names, unquoteLowerCase, describeNames(names))
}

/** A mode, spelled as `caseInsensitiveEnum` accepts it; the first name is the default. */
export function modeMember<const Names extends readonly [string, ...string[]]>(names: Names) {
  return caseInsensitiveEnum(names)
    .nullish()
    .describe(`${describeNames(names)} ${names[0]} unless it is sent.`)
    .transform((value): Names[number] => value ?? names[0])
}

/** Removes the extra quotes of the LanceDB remote client. */
function unquoteLowerCase(text: string): string {
  return text.replace(/^"(.*)"$/s, '$1').toLowerCase()
}

function describeNames(names: readonly string[]): string {
  return `One of ${names.join(', ')}; case and underscores do not matter.`
}

export const distanceType = z
  .string()
  .toLowerCase()
  .pipe(z.enum(['l2', 'cosine', 'dot', 'hamming']))

/** A list that is not empty, and has each column once. */
export function uniqueList<Entry extends z.ZodType>(
  entry: Entry,
  columnOf: (entry: z.output<Entry>) => string,
) {
  return z
    .array(entry)
    .min(1)
    .refine(
      (entries) => new Set(entries.map(columnOf)).size === entries.length,
      'expected each column at most once',
    )
}
