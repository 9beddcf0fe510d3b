import { getKeys } from '../../lib/get-keys.ts'

export type Schema = Readonly<Record<string, unknown>>

/* References to the definitions that each schema of policies has, and types that they share. */

export const label = { $ref: '#/definitions/label' }
export const ruleId = { $ref: '#/definitions/ruleId' }
export const names = { $ref: '#/definitions/names' }
export const operations = { $ref: '#/definitions/operations' }
export const line = { type: 'string', minLength: 1, maxLength: 200 }
export const time = { type: 'string', format: 'date-time' }
export const text = { type: 'string' }
export const texts = { type: 'object', additionalProperties: { type: 'string' } }

/** Schema of an object with exactly these fields, each with its description. */
export function createObjectSchema<Name extends string>(
  descriptions: Readonly<Record<Name, string>>,
  schemas: Readonly<Record<NoInfer<Name>, Schema>>,
  required: readonly NoInfer<Name>[],
  more: Schema = {},
): Schema {
  return {
    type: 'object',
    properties: Object.fromEntries(
      getKeys(descriptions).map((name) => [name, { description: descriptions[name], ...schemas[name] }]),
    ),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
    ...more,
  }
}
