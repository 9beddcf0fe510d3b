import { getKeys, getMembers } from '../lib/index.ts'
import { errorCodes, type ErrorName } from './catalog-error.ts'
import { apiKeyHeader, assertionHeader } from './headers.ts'

const errorNamesByStatus: Readonly<Record<number, ErrorName>> = {
  401: 'Unauthenticated',
  403: 'PermissionDenied',
  404: 'Unsupported',
  405: 'Unsupported',
  406: 'Unsupported',
  409: 'ConcurrentModification',
  429: 'Throttling',
  501: 'Unsupported',
  502: 'ServiceUnavailable',
  503: 'ServiceUnavailable',
  504: 'ServiceUnavailable',
}

const errorNamesByCode = new Map<unknown, ErrorName>(
  getKeys(errorCodes).map((name) => [errorCodes[name].code, name]),
)

/**
 * Accepts any body with a status of 400 or more. The detail is dropped: it may hold a stack trace. `requestHeaders`
 * alternates names and values. `reads`: the whole error, or no text of it, because it may repeat a secret.
 */
export function parseErrorResponse(
  status: number,
  body: Uint8Array | undefined,
  requestHeaders: readonly string[],
  reads: 'all' | 'code' = 'all',
) {
  const secrets = collectCredentials(requestHeaders)
  const sent = parse(body)
  const kind = errorNamesByCode.get(sent['code'])
  const message = sent['error']
  // RFC 9110, section 15.6.2: with 501 and any code, the server does not have the operation.
  const isMissing = status === 501 || (status === 500 && isNotImplemented(message))
  const shown = reads === 'all'
  return {
    kind: isMissing
      ? 'Unsupported'
      : (kind ?? errorNamesByStatus[status] ?? (status < 500 ? 'InvalidInput' : 'Internal')),
    /** Whether the body has an error code of the interface; otherwise the kind derives from the status. */
    hasCatalogCode: kind !== undefined,
    /** First line of the message, without paths. For a failure it may still reveal internals. */
    message: shown && typeof message === 'string' ? toPublicMessage(message, secrets) : undefined,
    /** Redacted like the message; undefined if there is none. */
    context: shown ? readContext(sent['context'], secrets) : undefined,
    cause: new UpstreamError(status, shown ? body : undefined, secrets),
  }
}

/** As the REST adapter of Lance says it, with the code of an internal error. */
function isNotImplemented(message: unknown): boolean {
  return typeof message === 'string' && /\bnot implemented\b/i.test(message)
}

const maxContextEntries = 16
const contextKey = /^[A-Za-z][\w.-]{0,63}$/

function readContext(
  sent: unknown,
  secrets: readonly string[],
): Readonly<Record<string, string>> | undefined {
  const entries = Object.entries(getMembers(sent))
    .slice(0, maxContextEntries)
    .flatMap(([key, value]): [string, string][] => {
      if (typeof value !== 'string' || !contextKey.test(key)) return []
      const shown = toPublicMember(key, value, secrets)
      return shown === undefined ? [] : [[key, shown]]
    })
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

export function isErrorResponse(body: Uint8Array | undefined): boolean {
  return errorNamesByCode.has(parse(body)['code'])
}

function parse(body: Uint8Array | undefined): Readonly<Record<string, unknown>> {
  try {
    return getMembers(JSON.parse(new TextDecoder().decode(body)))
  } catch {
    return {}
  }
}

const maxPublicLength = 500
const maxLoggedLength = 2_000
/** Scanned before secrets are removed: a secret that begins within the logged part ends within this. */
const maxScannedLength = 8_000

const lineEnd = /[\n\v\f\r\u0085\u2028\u2029]/
const controlCharacters = /\p{Cc}/gu
const stackOnOneLine = /\s+at [\w$.<>/]+\(.*$/
/** Where an error of a Rust library was made. */
const rustLocation = /,?\s*(?:location: )?Location \{[^{}]*(?:\}|$)/g
const uri = /\b[a-z][a-z\d+.-]*:\/\/[^\s"'`<>()[\]{},;]*/gi
const windowsPath = /(?:\b[a-z]:\\|\\\\)[^\s"'`<>()[\]{},;]*/gi
const absolutePath = /(?<![\w)\]}/])\/[\w.@%+~=$-][^\s"'`<>()[\]{},;]*/g
const relativePath = /[\w.@%+~=$-]+(?:\/[\w.@%+~=$:-]+){2,}\/?/g
const sourceFile = /\b[\w.-]+\.(?:c|cc|cpp|go|java|js|kt|py|rs|scala|ts)(?::\d+)+/g

/**
 * Reduces an error text of another server to the part for callers: the first line, without control characters (such as
 * escape sequences of terminals), stack, paths, addresses, `secrets` and anything that looks like a credential. Undefined if nothing remains.
 */
function toPublicMessage(text: string, secrets: readonly string[]): string | undefined {
  const [line = ''] = text.slice(0, maxScannedLength).split(lineEnd, 1)
  const withoutPaths = redactAll(line.replaceAll(controlCharacters, ''), secrets)
    .slice(0, maxPublicLength)
    .replace(stackOnOneLine, '')
    .replaceAll(rustLocation, '')
    .replaceAll(uri, '[path]')
    .replaceAll(windowsPath, '[path]')
    .replaceAll(absolutePath, '[path]')
    .replaceAll(relativePath, '[path]')
    .replaceAll(sourceFile, '[path]')
  const shown = redactCredentials(withoutPaths).trim()
  return shown === '' ? undefined : shown
}

/** Reduces the value of a member like a message; all of it if the name is that of a secret. Undefined if nothing remains. */
function toPublicMember(name: string, value: string, secrets: readonly string[]): string | undefined {
  const prefix = `${name}=`
  const shown = toPublicMessage(prefix + value, secrets)
  if (shown?.startsWith(prefix) !== true || shown === prefix) return undefined
  return shown.startsWith(prefix + redacted) ? redacted : shown.slice(prefix.length)
}

const redacted = '[redacted]'
const secretName =
  /((?:api[-_]?key|authorization|cookie|credential|pass(?:word|wd|phrase)|private[-_]?key|secret|x-amz-signature|[?&]sig(?:nature)?|(?:access|auth|id|refresh|sas|security|session)[-_]?token)[\w-]{0,32}["'\\]{0,4}\s{0,8}[:=]\s{0,8}\\?)(?:"[^"]*"?|'[^']*'?|[^\s"',;&)\]}]+)/gi
const scheme = /\b(basic|bearer)\s+[^\s"',;]+/gi
const userInfo = /:\/\/[^\s/@"']*@/g
const jsonWebToken = /\beyJ[\w-]+\.[\w-]*(?:\.[\w-]*)*/g
const accessKeyId = /\b(?:AKIA|ASIA)[A-Z\d]{12,}/g
const pem = /-----BEGIN [A-Z ]+-----[\s\S]*?(?:-----END [A-Z ]+-----|$)/g

function redactAll(text: string, secrets: readonly string[]): string {
  let rest = text
  for (const secret of secrets) if (secret !== '') rest = rest.replaceAll(secret, redacted)
  return rest
}

function redactCredentials(text: string): string {
  return text
    .replaceAll(pem, redacted)
    .replaceAll(scheme, `$1 ${redacted}`)
    .replaceAll(secretName, `$1${redacted}`)
    .replaceAll(userInfo, `://${redacted}@`)
    .replaceAll(jsonWebToken, redacted)
    .replaceAll(accessKeyId, redacted)
}

const credentialHeaders: ReadonlySet<string> = new Set([apiKeyHeader, assertionHeader, 'authorization'])

/** Returns the credentials in these headers (alternating names and values), with and without their scheme. */
function collectCredentials(headers: readonly string[]): string[] {
  return headers.flatMap((value, index) => {
    const isSecret = index % 2 === 1 && credentialHeaders.has(headers[index - 1] ?? '')
    return isSecret ? [value, value.replace(/^\S+\s+/, '')] : []
  })
}

/** Error response of another server, for the log only: bounded and without secrets. */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError'

  constructor(status: number, body: Uint8Array | undefined, secrets: readonly string[]) {
    const read = new TextDecoder().decode(body?.subarray(0, maxScannedLength))
    const text = redactCredentials(redactAll(read, secrets)).slice(0, maxLoggedLength)
    super(`the upstream returned status ${status}${text === '' ? '' : `: ${text}`}`)
  }
}
