import { apiKeyHeader, assertionHeader } from '../headers.ts'

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
 * Reduces an error text of another server to what the caller may see: the first line, without control characters (such as
 * escape sequences of terminals), stack, paths, addresses, `secrets` and anything that looks like a credential. Undefined if nothing remains.
 */
export function toPublicMessage(text: string, secrets: readonly string[]): string | undefined {
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
export function toPublicMember(name: string, value: string, secrets: readonly string[]): string | undefined {
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
export function collectCredentials(headers: readonly string[]): string[] {
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
