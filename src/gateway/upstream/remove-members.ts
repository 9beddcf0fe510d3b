import { refusal } from '../../catalog-api/catalog-error.ts'
import { concatChunks } from '../body/read-body.ts'
import { JsonTransformer, type JsonVisitor } from '../json/json-transformer.ts'

/**
 * Removes the members of those names at any depth from the body of a response. Throws ServiceUnavailable (502) for a
 * body that is not JSON, because its content cannot be checked.
 */
export function removeMembers(body: Buffer, names: ReadonlySet<string>): Buffer {
  return transformResponse(body, { visitName: (name) => (names.has(name) ? 'removal' : 'members') })
}

/** Transforms the body of a response. Throws ServiceUnavailable (502) for a body that is not JSON. */
export function transformResponse(body: Buffer, visitor: JsonVisitor): Buffer {
  if (body.length === 0) return body
  const text = new JsonTransformer(visitor, body.length)
  try {
    text.push(body)
    text.end()
    return concatChunks(text.takeRest())
  } catch (error) {
    throw refusal('upstream_response_invalid', 'the response of the catalog is not JSON', { cause: error })
  }
}
