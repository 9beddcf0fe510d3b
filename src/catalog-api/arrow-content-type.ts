import { refusal } from './catalog-error.ts'
import { arrowStreamType } from './headers.ts'
import { quoteForMessage } from './identifiers.ts'

/** Clients also send an Arrow stream as bytes of no particular type. */
const grammar = /^(?:application\/vnd\.apache\.arrow\.stream|application\/octet-stream)\s*(?:;|$)/i

/** Throws InvalidInput (400) for the content-type of anything but an Arrow stream; none at all is accepted. */
export function assertArrowContentType(contentType: string | undefined): void {
  if (contentType === undefined || grammar.test(contentType)) return
  throw refusal(
    'unsupported_content_type',
    `the content-type is ${quoteForMessage(contentType)}; expected ${arrowStreamType}`,
  )
}
