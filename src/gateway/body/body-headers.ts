import { refusal } from '../../catalog-api/catalog-error.ts'
import { quoteForMessage } from '../../catalog-api/identifiers.ts'
import type { ReceivedHead } from '../received-head.ts'

const jsonContentType = /^(?:application\/json|application\/octet-stream|text\/json)\s*(?:;|$)/i
const charsetParameter = /;\s*charset\s*=\s*"?([^\s";]*)/i

/** Throws InvalidInput (400) for a body that is not JSON in UTF-8, or compressed. */
export function assertJsonHeaders({ contentType, contentEncoding }: ReceivedHead): void {
  assertUncompressed(contentEncoding, 'the JSON body')
  if (contentType === undefined) return
  const encoding = charsetParameter.exec(contentType)?.[1] ?? 'utf-8'
  if (!jsonContentType.test(contentType) || !/^utf-?8$/i.test(encoding)) {
    throw refusal(
      'unsupported_content_type',
      `the content-type is ${quoteForMessage(contentType)}; expected application/json in UTF-8`,
    )
  }
}

/** Throws InvalidInput (400) for a compressed body, which could not be checked. */
export function assertUncompressed(contentEncoding: string | undefined, what: string): void {
  if (contentEncoding === undefined || contentEncoding === 'identity') return
  throw refusal(
    'unsupported_content_encoding',
    `the content-encoding is ${quoteForMessage(contentEncoding)}; send ${what} uncompressed`,
  )
}
