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

const anyUnsigned64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String)

/** Any valid request: an operation with a matching id, index and parameters. */
export const anyTarget: fc.Arbitrary<RouteMatch> = fc
  .constantFrom(...operationNames.map(getOperation))
  .chain((operation) => fc.constantFrom(...(operation.part ? [operation, operation.part] : [operation])))
  .chain(createTarget)

function createTarget(operation: Operation): fc.Arbitrary<RouteMatch> {
  const takesRoot = operation.object === 'namespace'
  return fc.record({
    operation: fc.constant(operation),
    id:
      operation.object === 'none'
        ? fc.constant([])
        : takesRoot
          ? anyIdentifier
          : fc.array(anyName, { minLength: operation.object === 'transaction' ? 2 : 1, maxLength: 6 }),
    delimiter: anyDelimiter,
    indexName: operation.path.includes('{index_name}') ? anyName : fc.constant(undefined),
    ...(operation.path.includes('{row_id}') && {
      blob: fc.record({ column: anyName, rowId: anyUnsigned64 }),
    }),
    parameters: anyParameters(operation),
  })
}

function anyParameters(operation: Operation): fc.Arbitrary<Map<string, string | readonly string[]>> {
  const text = fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
    .filter((value) => !value.includes('\0'))
  const byType = {
    string: text,
    strings: fc.array(text, { minLength: 1, maxLength: 3 }),
    integer: fc.nat().map(String),
    long: anyUnsigned64,
    boolean: fc.constantFrom('true', 'false'),
  }
  // The parameters that make a request one for a part.
  const ofParts = operation.part === undefined ? [] : ['upload_id', 'upload_part_id']
  const isPart = operation.multipart === 'mayName' && operation.part === undefined
  const names = [...operation.query].filter(([name]) => name !== 'delimiter' && !ofParts.includes(name))
  const values = Object.fromEntries(
    names.map(([name, type]) => [name, byType[type] as fc.Arbitrary<string | string[]>]),
  )
  return fc
    .record(values, { requiredKeys: [...operation.required, ...(isPart ? ['upload_id'] : [])] })
    .map((parameters) => new Map(Object.entries(parameters)))
}
