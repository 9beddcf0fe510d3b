import { z } from 'zod'
import {
  assertIdentifier,
  assertName,
  CatalogError,
  describeJoinedName,
  extraOperationNamePattern,
  formatNameList,
  permissionGroups,
  permissionNames,
  splitNames,
} from '../../catalog-api/index.ts'
import { suggestSimilar, validateTimestamp } from '../../lib/index.ts'
import { describeRegularExpression } from '../conditions/name-pattern.ts'
import { describePlaceholder } from './for-each.ts'
import type { PolicyVocabulary } from './policy-vocabulary.ts'
import type { Path, ProblemLocation } from './document-reader.ts'

/*
 * Parts of the schemas of the policy language. Errors state the expected value. `meta` has constraints that only editors
 * and the API server check by the schema: for some, the later checks have better messages.
 */

export type JsonSchema = z.core.JSONSchema.JSONSchema

/** Reports a problem of a part of a value. The text continues the name of the part. */
type Report = (problem: string, path?: Path, location?: ProblemLocation) => void

/**
 * Adds a check of values that have the right form and no unknown field, even if their parts have other problems. It may
 * return the problem of the whole value.
 */
export function checked<Schema extends z.ZodType>(
  schema: Schema,
  check: (value: z.output<Schema>, report: Report) => string | undefined,
): Schema {
  return schema.superRefine(
    (value, context) => {
      const report: Report = (message, path = [], params = {}) =>
        context.addIssue({ code: 'custom', message, path: [...path], params })
      const problem = check(value, report)
      if (problem !== undefined) report(problem)
    },
    { when: hasRightForm },
  )
}

function hasRightForm({ issues }: z.core.ParsePayload): boolean {
  return issues.every(
    ({ code, path = [], continue: isOfPart }) =>
      isOfPart === true && !(code === 'unrecognized_keys' && path.length === 0),
  )
}

export const text = z.string({ error: 'text' })

/** A text that matches; the JSON Schema has `schema` instead of the grammar. */
export function matching(
  grammar: RegExp,
  expected: string,
  schema: Readonly<Record<string, unknown>>,
): z.ZodString {
  return text.regex(grammar, { error: expected }).meta({ pattern: undefined, ...schema })
}

export function list<Item extends z.ZodType>(item: Item, example: string): z.ZodArray<Item> {
  return z.array(item, { error: `a list, such as ${example}` })
}

export function fullList<Item extends z.ZodType>(item: Item, example: string): z.ZodArray<Item> {
  return list(item, example).min(1, { error: `a list, such as ${example}` })
}

export function mapOf<Value extends z.ZodType>(value: Value, expected: string) {
  return z.record(z.string(), value, { error: expected })
}

export function fullMapOf<Value extends z.ZodType>(value: Value, expected: string) {
  return checked(mapOf(value, expected), (map) =>
    Object.keys(map).length === 0 ? ` is empty; expected ${expected}` : undefined,
  ).meta({ minProperties: 1 })
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
    error: ({ input }) => ` is ${JSON.stringify(input)}: ${validateTimestamp(String(input))}`,
    abort: true,
  })
  .meta({ format: 'date-time' })
export const texts = mapOf(text, 'a map of strings, such as { ticket: "T-1" }')
const filled = text.meta({ minLength: 1 })
export const names = list(filled, '[sales]')
export const yes = z.literal(true)

/** A list of names or other texts, each with its check, that is not empty. */
export function fullListOf(describe: (text: string) => string | undefined, example: string) {
  return fullList(checked(filled, describe), example)
}

export function describeSubject(name: string): string | undefined {
  // oxlint-disable-next-line no-control-regex
  if (name === '' || /[\u0000-\u001f\u007f-\u009f]/.test(name))
    return ` is ${JSON.stringify(name)}, which is not a valid name`
  if (!name.includes('*')) return describePlaceholder(name)
  return ' contains "*"; names are exact; use "any: true" for every caller'
}

const exactNamespaces =
  "namespaces must be named exactly; for several, list their names: forEach: { team: [crm, billing] } with namespace: ['{team}']"

export type NameSchemas = ReturnType<typeof createNameSchemas>

/** Schemas of names at a gateway with these settings. A name that nothing can have is an error: it would never apply. */
export function createNameSchemas(vocabulary: PolicyVocabulary) {
  const { permissions, options } = vocabulary
  const known = new Set<string>([...permissions.names, ...permissions.groups.keys()])
  const expectedNames = `; expected operations such as InsertIntoTable, or the groups ${[...permissions.groups.keys()].join(', ')}`

  function describeName(name: string, expected: () => string): string | undefined {
    const joined = describeJoinedName(name, options.separators, expected)
    return joined === undefined ? describeInvalid(() => assertName(name, '')) : `: ${joined}`
  }

  const describeTable = (pattern: string): string | undefined =>
    describeName(pattern, () => 'the name alone: the namespace is that of the policy')

  function path(item: z.ZodString, describe: (name: string) => string | undefined) {
    return checked(list(item, '[prod, sales]'), (names, report) => {
      const expected = (): string =>
        formatNameList(names.flatMap((name) => splitNames(name, ['/', ...options.separators])))
      const problems = names.map((name) => describe(name) ?? describeName(name, expected))
      for (const [index, problem] of problems.entries()) if (problem !== undefined) report(problem, [index])
      if (problems.some((problem) => problem !== undefined)) return
      const problem = describeInvalid(() => assertIdentifier(names))
      if (problem !== undefined) report(`: ${problem}`)
    })
  }

  return {
    path: path(filled, () => undefined),
    namespace: path(filled.meta({ pattern: '^[^*]+$' }), (name) =>
      name.includes('*') ? ` contains "*"; ${exactNamespaces}` : describePlaceholder(name),
    ),
    tables: fullListOf((pattern) => {
      if (pattern.includes('**')) return ' contains "**"; omit "tables" for everything beneath the namespace'
      // Names may contain most characters of regular expressions, which `policy lint` reports; "^…$" is never a name.
      const anchored = /^\^.*\$$/.test(pattern) ? describeRegularExpression(pattern) : undefined
      return anchored === undefined ? describeTable(pattern) : `: ${anchored}`
    }, '[orders, "evt_*"]'),
    describeTable,
    operations: fullList(
      checked(text, (name) =>
        known.has(name)
          ? undefined
          : `: unknown operation or group ${JSON.stringify(name)}${suggestSimilar(name, known) || expectedNames}`,
      ).meta({
        anyOf: [
          { enum: [...permissionGroups.keys(), ...permissionNames] },
          {
            pattern: extraOperationNamePattern,
            description: 'An extra operation that the settings declare.',
          },
        ],
      }),
      '[read, InsertIntoTable]',
    ),
  }
}

function describeInvalid(assert: () => unknown): string | undefined {
  try {
    assert()
    return undefined
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error
    return error.message
  }
}

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

function toSubschema(schema: z.ZodType): JsonSchema {
  const { $schema: _, ...rest } = toJsonSchema(schema)
  return rest
}
