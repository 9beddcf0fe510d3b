import { findHeader } from '../../lib/index.ts'
import { quoteForMessage, refusal } from '../../catalog-api/index.ts'

/** The content coding of a response, whose headers alternate names and values; undefined if there is none. */
export function getContentCoding(headers: readonly string[]): string | undefined {
  const coding = findHeader(headers, 'content-encoding')
  return coding === undefined || coding.toLowerCase() === 'identity' ? undefined : coding
}

/** Throws ServiceUnavailable (502) for a response that the gateway has to read, but that is compressed. */
export function assertNotCompressed(headers: readonly string[]): void {
  const coding = getContentCoding(headers)
  if (coding === undefined) return
  throw refusal(
    'upstream_response_invalid',
    `the response of the catalog has the content-encoding ${quoteForMessage(coding)}; expected none, as requested`,
  )
}
