import { refusal } from '../../catalog-api/catalog-error.ts'
import { quoteForMessage } from '../../catalog-api/identifiers.ts'
import type { ParameterType } from '../../catalog-api/operations.ts'
import { validateParameter } from '../../catalog-api/query-parameters.ts'
import type { RouteMatch } from '../../catalog-api/request-target.ts'
import { describeJsonValue } from '../facts/fact-values.ts'
import type { JsonObject } from '../facts/stated-facts.ts'

const jsonTypes: Readonly<Partial<Record<ParameterType, string>>> = {
  string: 'string',
  integer: 'number',
  boolean: 'boolean',
}

/**
 * Adds to the parameters of a listing those that the body states, as in other requests without an official body. Parameters of
 * both places were compared before. Throws InvalidInput (400) for a value that the query would not accept.
 */
export function addBodyParameters(
  { operation, parameters }: RouteMatch,
  members: JsonObject,
): RouteMatch['parameters'] {
  if (operation.lists === undefined) return parameters
  const added = new Map(parameters)
  for (const [name, type] of operation.query) {
    const value = members[name]
    // An empty page token counts as absent, as in the query.
    const isAbsent = value === undefined || value === null || (value === '' && type === 'string')
    if (isAbsent || name === 'delimiter' || parameters.has(name)) continue
    const label = `${quoteForMessage(name)} in the body`
    if (typeof value !== jsonTypes[type])
      throw refusal('invalid_body', `${label} is ${describeJsonValue(value)}; expected a ${jsonTypes[type]}`)
    added.set(name, validateParameter(label, type, typeof value === 'string' ? value : JSON.stringify(value)))
  }
  return added
}
