import type { RawResponse } from './raw-responses.ts'
import type { LogLine } from './spawned-process.ts'
import { secrets } from './test-objects.ts'

/** Errors that the gateway sends before it has a request, and therefore without a log line. */
const unparsed = /^(?:malformed HTTP request|the request line and headers exceed the limit of .+)$/

/** Checks a response on its own. Returns the errors, empty if there are none. */
export function findResponseErrors(response: RawResponse, isHead: boolean): string[] {
  const { status } = response
  const text = response.body.toString()
  const leaked = Object.values(secrets).filter((secret) => text.includes(secret))
  // 505 is a client error: an unsupported version of HTTP.
  const isServerError = status >= 500 && status !== 505
  return [
    ...(isServerError ? [`status ${status} ${text}`] : []),
    ...(status < 400 || isHead || isCatalogError(response)
      ? []
      : [`not an error of the catalog API: ${status} ${text}`]),
    ...(response.header('x-request-id') === undefined ? ['without a request id'] : []),
    ...leaked.map((secret) => `leaks ${secret}`),
  ]
}

/** Compares a response with its log lines. Returns the differences, empty if there are none. */
export function findLogErrors(
  response: RawResponse,
  isHead: boolean,
  lines: readonly LogLine[] = [],
): string[] {
  // Without a body, an error about an unparsed request cannot be recognized.
  if (isHead && lines.length === 0) return []
  if (isUnparsed(response)) return lines.length === 0 ? [] : ['logged, but refused as unparsed']
  if (lines.length !== 1)
    return [
      `status ${response.status} ${response.body.toString().slice(0, 200)}, with ${lines.length} lines in the log`,
    ]
  return lines[0]?.['status'] === response.status
    ? []
    : [`status ${response.status}, logged ${String(lines[0]?.['status'])}`]
}

function isCatalogError(response: RawResponse): boolean {
  const { error, code, instance, ...rest } = parseBody(response)
  const isKnown = Number.isInteger(code) && Number(code) >= 0 && Number(code) <= 23
  return (
    typeof error === 'string' &&
    isKnown &&
    instance === response.header('x-request-id') &&
    Object.keys(rest).every((name) => name === 'detail')
  )
}

function isUnparsed(response: RawResponse): boolean {
  return response.status >= 400 && unparsed.test(String(parseBody(response)['error']))
}

/** Returns an empty object if the body is not a JSON object. */
function parseBody({ body }: RawResponse): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(body.toString())
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
