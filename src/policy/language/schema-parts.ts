import { z } from 'zod'
import { extraOperationNamePattern } from '../../catalog-api/extra-operation.ts'
import { permissionGroups, permissionNames } from '../../catalog-api/permissions.ts'
import { validateTimestamp } from '../../lib/time.ts'

/*
 * The parts that the schemas of the policy language are made of. Errors say what is expected. `meta` has what only editors
 * and the API server check by the schema: for some of it the parser, which checks it later, has better messages.
 */

export type JsonSchema = z.core.JSONSchema.JSONSchema

export const text = z.string({ error: 'text' })

/** A text that matches; `schema` is what the JSON Schema says of it instead of the grammar. */
export function matching(
  grammar: RegExp,
  expected: string,
  schema: Readonly<Record<string, unknown>>,
): z.ZodString {
  return text.regex(grammar, { error: expected }).meta({ pattern: undefined, ...schema })
}

/** A list, of which errors show the example. */
export function list<Item extends z.ZodType>(item: Item, example: string): z.ZodArray<Item> {
  return z.array(item, { error: `a list, such as ${example}` })
}

/** A list that is not empty. */
export function fullList<Item extends z.ZodType>(item: Item, example: string): z.ZodArray<Item> {
  return list(item, example).min(1, { error: `a list, such as ${example}` })
}

/** A map by any name. */
export function mapOf<Value extends z.ZodType>(
  value: Value,
  expected: string,
): z.ZodRecord<z.ZodString, Value> {
  return z.record(z.string(), value, { error: expected })
}

/** A map that is not empty. */
export function fullMapOf<Value extends z.ZodType>(
  value: Value,
  expected: string,
): z.ZodRecord<z.ZodString, Value> {
  return mapOf(value, expected)
    .refine((map) => Object.keys(map).length > 0, { error: expected })
    .meta({ minProperties: 1 })
}

export function optional<Value extends z.ZodType>(value: Value, description: string): z.ZodOptional<Value> {
  return value.describe(description).optional()
}

/** One of two forms. A mistake is one in the form that is meant. */
export function either<One extends z.ZodType, Other extends z.ZodType>(
  one: One,
  other: Other,
  isOther: (value: unknown) => boolean,
): z.ZodType<z.output<One> | z.output<Other>> {
  return z
    .custom<z.output<One> | z.output<Other>>()
    .check(({ value, issues }) => {
      const result = (isOther(value) ? other : one).safeParse(value)
      for (const issue of result.error?.issues ?? [])
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- an issue with its input is a raw issue
        issues.push({ ...issue, input: value } as z.core.$ZodRawIssue)
    })
    .meta({ anyOf: [one, other].map(toSubschema) })
}

/** JSON Schema of a map with at least one of the names. */
export function anyOf(names: readonly string[]): { readonly anyOf: readonly object[] } {
  return { anyOf: names.map((name) => ({ required: [name] })) }
}

const labelGrammar = '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$'
const expectedLabel = '1 to 128 letters, digits or any of . _ -'
/** A name of a policy or of a value, of characters that are safe in log lines. */
export const label = matching(new RegExp(labelGrammar), expectedLabel, { pattern: labelGrammar })
/** A label, in which editors allow the variable of forEach. */
export const filledLabel = label.meta({ pattern: '^[A-Za-z0-9{][A-Za-z0-9._{}-]*$' })
const maxLineLength = 200
/** A text of one line for people. */
export const line = matching(
  new RegExp(String.raw`^(?=.*\S)[^\p{C}\u2028\u2029]{1,${maxLineLength}}$`, 'u'),
  `one line of 1 to ${maxLineLength} characters`,
  { minLength: 1, maxLength: maxLineLength },
)
export const time = text
  .refine((value) => validateTimestamp(value) === undefined, {
    error: ({ input }) => `: ${validateTimestamp(String(input))}`,
  })
  .meta({ format: 'date-time' })
export const texts = mapOf(text, 'a map of strings, such as { ticket: "T-1" }')
export const name = text.meta({ minLength: 1 })
export const path = list(name, '[prod, sales]')
export const yes = z.literal(true)
export const operations = fullList(
  text.meta({
    anyOf: [
      { enum: [...permissionGroups.keys(), ...permissionNames] },
      {
        pattern: extraOperationNamePattern,
        description: 'An extra operation that the settings declare.',
      },
    ],
  }),
  '[read, InsertIntoTable]',
)
/** The JSON Schema for editors (draft 7, which has the best editor support). */
export function toJsonSchema(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, {
    target: 'draft-7',
    io: 'input',
    unrepresentable: 'any',
    override({ jsonSchema }) {
      // Any name, and any value: Kubernetes knows neither.
      delete jsonSchema.propertyNames
      if (JSON.stringify(jsonSchema.additionalProperties) === '{}') delete jsonSchema.additionalProperties
    },
  })
}

export function toSubschema(schema: z.ZodType): JsonSchema {
  const { $schema: _, ...rest } = toJsonSchema(schema)
  return rest
}
