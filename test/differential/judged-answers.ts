import { secrets } from './places.ts'
import type { RawResponse } from './raw-answers.ts'
import type { LogLine } from './spawned-process.ts'

/** What was answered before there was a request, and so has no line of its own. */
const unparsed = /^(?:malformed HTTP\/1\.1 request|the request head is too large|CONNECT is not supported)$/

/** What is wrong with an answer by itself; empty if nothing is. */
export function errorsOf(response: RawResponse, isHead: boolean): string[] {
  const { status } = response
  const text = response.body.toString()
  const shown = Object.values(secrets).filter((secret) => text.includes(secret))
  // 505 says that the client speaks another version of HTTP.
  const isOurError = status >= 500 && status !== 505
  return [
    ...(isOurError ? [`answered ${status} ${text}`] : []),
    ...(status < 400 || isHead || isError(response) ? [] : [`no error of the interface: ${status} ${text}`]),
    ...(response.header('x-request-id') === undefined ? ['without a request id'] : []),
    ...shown.map((secret) => `shows ${secret}`),
  ]
}

/** What differs between an answer and the line that the gateway logged about it; empty if nothing does. */
export function errorsOfLines(
  response: RawResponse,
  isHead: boolean,
  lines: readonly LogLine[] = [],
): string[] {
  // Without a body nobody can tell what this answer is about.
  if (isHead && lines.length === 0) return []
  if (isUnparsed(response)) return lines.length === 0 ? [] : ['logged as a request, but answered as none']
  if (lines.length !== 1)
    return [
      `answered ${response.status} ${response.body.toString().slice(0, 200)}, with ${lines.length} lines in the log`,
    ]
  return lines[0]?.['status'] === response.status
    ? []
    : [`answered ${response.status}, logged ${String(lines[0]?.['status'])}`]
}

function isError(response: RawResponse): boolean {
  const { error, code, instance, ...rest } = jsonOf(response)
  const isKnown = Number.isInteger(code) && Number(code) >= 0 && Number(code) <= 23
  return (
    typeof error === 'string' &&
    isKnown &&
    instance === response.header('x-request-id') &&
    Object.keys(rest).every((name) => name === 'detail')
  )
}

function isUnparsed(response: RawResponse): boolean {
  return response.status >= 400 && unparsed.test(String(jsonOf(response)['error']))
}

function jsonOf({ body }: RawResponse): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(body.toString())
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
