import { ConnectError } from './connect-error.ts'

const authorityAdvice = '; set caFile or outbound.caFile if its authority is private'

/** Codes of Node and OpenSSL, by what has failed; the first match counts. */
const causes: readonly (readonly [pattern: RegExp, cause: string, advice?: string])[] = [
  [/^(ENOTFOUND|EAI_)/, 'name resolution'],
  [/^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|EACCES|EPERM)$/, 'route'],
  [/^(ETIMEDOUT|CONNECT_TIMEOUT)$/, 'timeout'],
  [/^(UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_)/, 'certificate', authorityAdvice],
  [/^(CERT_|ERR_TLS_CERT_|INVALID_CA|PATH_LENGTH_|INVALID_PURPOSE|HOSTNAME_)/, 'certificate'],
  [/^(EPROTO|ERR_SSL_|ERR_TLS_)/, 'TLS'],
]

/** Says for operators what has failed on the way to a host: its name, the route, the certificate or the proxy. */
export function describeConnectFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error instanceof ConnectError && error.code !== 'CONNECT_TIMEOUT') return `proxy: ${error.message}`
  const { code = '' }: NodeJS.ErrnoException = error
  const [, cause, advice = ''] = causes.find(([pattern]) => pattern.test(code)) ?? []
  const message = describe(error)
  return cause === undefined ? message : `${cause}: ${message}${advice}`
}

/** Node reports the failures of all addresses of a host as one error without a message. */
function describe(error: Error): string {
  if (error.message !== '' || !(error instanceof AggregateError)) return error.message
  return error.errors.map((each) => (each instanceof Error ? each.message : String(each))).join('; ')
}
