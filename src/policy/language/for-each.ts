import { isObject } from '../../lib/json/json-values.ts'
import type { Place } from './place.ts'
import type { PolicyInstance } from './policy-document.ts'
import { formatPlaceholder, isVariableName } from './policy-instance.ts'
import { expectedVariable, forEachSchema } from './policy-schema.ts'

/** The product of values and rules bounds the time and memory that one file takes. */
const maxItems = 100_000
const repeatedFields: readonly string[] = ['rules', 'restrict', 'tests']

/**
 * Returns the valid values of `forEach` in a document as written; undefined if it has none. Reports all errors in the field.
 */
export function readForEach(place: Place, document: unknown): readonly PolicyInstance[] | undefined {
  if (!isObject(document) || !Object.hasOwn(document, 'forEach')) return undefined
  const { forEach } = document
  const field = place.at('forEach')
  const [variable = '', ...more] = field.keys
  if (isObject(forEach) && (more.length > 0 || !isVariableName(variable))) {
    const found = field.keys.map((key) => JSON.stringify(key)).join(', ') || 'no variable'
    field.report(` has ${found}; expected ${expectedVariable}`)
    return []
  }
  if (isObject(forEach) && !isInNamespace(document['namespace'], variable)) {
    const placeholder = formatPlaceholder(variable)
    field.report(
      `.${variable}: "${placeholder}" is not in "namespace", so all values would have the same one; ` +
        `expected it there, such as namespace: ['${placeholder}']`,
    )
  }
  const values = new Set<string>()
  for (const [index, value] of field.check(forEachSchema)?.[variable]?.entries() ?? []) {
    if (value === undefined) continue
    if (values.has(value)) field.at(variable, index).report(`: duplicate value "${value}"`)
    values.add(value)
  }
  const written = repeatedFields
    .map((name) => document[name])
    .reduce<number>((sum, items) => sum + (Array.isArray(items) ? items.length : 0), 0)
  if (values.size * written > maxItems) {
    const count = `${values.size} values for ${written} rules and tests`
    field.report(`.${variable} has ${count}; expected at most ${maxItems} together, in several policies`)
    return []
  }
  return [...values].map((value) => ({ variable, value }))
}

/** Whether the variable is in a namespace that is a list of texts. An error in another one is reported elsewhere. */
function isInNamespace(namespace: unknown, variable: string): boolean {
  if (!Array.isArray(namespace)) return true
  return namespace.some((text) => typeof text !== 'string' || text.includes(formatPlaceholder(variable)))
}
