import fc from 'fast-check'
import { getOperation, operationNames, type Operation } from '../../src/catalog-api/operations.ts'
import type { RouteMatch } from '../../src/catalog-api/request-target.ts'

const forbidden = /[\p{Cc}\p{Cs}/\\%?#'"`]/u

/** Valid name of any script. */
const anyName = fc
  .oneof(
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }),
    fc.constantFrom('a', 'a.b', 'a+b', 'a b', '$', '*', '{}', '::'),
  )
  .filter((name) => !forbidden.test(name) && name !== '.' && name !== '..')

export const anyIdentifier = fc.array(anyName, { maxLength: 6 })

/** Delimiters of one and of several characters. */
export const anyDelimiter = fc.constantFrom('$', '.', ':', '::', '__delim__', '/', '+', '~', '\u{1F600}')

/** Any valid request: an operation with a matching id, index and parameters. */
export const anyTarget: fc.Arbitrary<RouteMatch> = fc.constantFrom(...operationNames).chain((name) => {
  const operation = getOperation(name)
  const takesRoot = operation.object === 'namespace'
  return fc.record({
    operation: fc.constant(operation),
    id:
      operation.object === 'none'
        ? fc.constant([])
        : takesRoot
          ? anyIdentifier
          : fc.array(anyName, { minLength: 1, maxLength: 6 }),
    delimiter: anyDelimiter,
    indexName: operation.path.includes('{index_name}') ? anyName : fc.constant(undefined),
    parameters: anyParameters(operation),
  })
})

function anyParameters(operation: Operation): fc.Arbitrary<Map<string, string | readonly string[]>> {
  const text = fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
    .filter((value) => !value.includes('\0'))
  const byType = {
    string: text,
    strings: fc.array(text, { minLength: 1, maxLength: 3 }),
    integer: fc.nat().map(String),
    boolean: fc.constantFrom('true', 'false'),
  }
  const names = [...operation.query].filter(([name]) => name !== 'delimiter')
  const values = Object.fromEntries(
    names.map(([name, type]) => [name, byType[type] as fc.Arbitrary<string | string[]>]),
  )
  return fc
    .record(values, { requiredKeys: [...operation.required] })
    .map((parameters) => new Map(Object.entries(parameters)))
}
