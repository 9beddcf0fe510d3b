import { isIP } from 'node:net'
import { z } from 'zod'
import { hostNamePattern, listTlsFiles, type TlsFiles, toError } from '../lib/index.ts'

// What the sections of the settings share: types of values, and checks.

/** What is wrong with a setting, or with several that exclude each other. */
export interface SettingProblem {
  readonly path: readonly (string | number)[]
  readonly message: string
}

/** For `superRefine`: refuses a value for what `find` says of it, or the settings in it. */
export function refuse<Value>(find: (value: Value) => string | undefined | Iterable<SettingProblem>) {
  return (value: Value, context: z.core.$RefinementCtx): void => {
    const found = find(value) ?? []
    for (const { path, message } of typeof found === 'string' ? [{ path: [], message: found }] : found)
      context.addIssue({ code: 'custom', path: [...path], message })
  }
}

/** For `superRefine`: only if nothing else is wrong so far. An invalid value does not have the type of a valid one. */
export const ifValid = { when: ({ issues }: z.core.ParsePayload) => issues.length === 0 }

/** Finds the items with a value of a member that an item before them has. */
export function findDuplicates<Item>(
  items: readonly Item[],
  member: keyof Item & string,
  describe: (value: string) => string,
): readonly SettingProblem[] {
  const values = items.map((item) => item[member])
  return values.flatMap((value, index) =>
    value === undefined || values.indexOf(value) === index
      ? []
      : [{ path: [index, member], message: describe(String(value)) }],
  )
}

/** Returns the message of the error that `check` throws; undefined if it throws none. */
export function findErrorMessage(check: () => unknown): string | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    return toError(error).message
  }
}

export const nonEmptyText = z.string().min(1, 'expected text that is not empty')
export const portNumber = z.int().min(0).max(65_535)
export const milliseconds = z.int().positive().max(2_147_483_647)
export const dashedName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'expected lower-case letters, digits and dashes')

/** The name of a file or a folder; a relative one is relative to the folder of the settings file (`convertValues`). */
export const path = nonEmptyText.meta({ path: true })

/** TLS settings of a client, as members of a zod object. */
export const tlsFiles = {
  caFile: path
    .optional()
    .describe('PEM file: CA certificates to trust instead of those of the system and of `outbound.caFile`.'),
  clientCertificate: z
    .strictObject({
      certFile: path.describe('PEM file: the certificate chain of the gateway.'),
      keyFile: path.describe('PEM file: the private key of the certificate.'),
    })
    .optional()
    .describe('Client certificate of the gateway.'),
}

export const tlsRequiresHttps = 'expected an https URL, because TLS files are set'

export function hasHttpsIfTlsFiles(settings: TlsFiles & { readonly url: string }): boolean {
  return listTlsFiles(settings).length === 0 || settings.url.startsWith('https:')
}

/** Whether a URL has only scheme, host and a path of that form: other parts would be ignored, or print a secret. */
export function isPlainUrl(text: string, form = /^/): boolean {
  if (!URL.canParse(text)) return false
  const { hostname, username, password, search, hash, pathname } = new URL(text)
  return (
    hostname !== '' && [username, password, search, hash].every((part) => part === '') && form.test(pathname)
  )
}

export const httpUrl = z.url({
  protocol: /^https?$/,
  error: 'expected a URL with its scheme, such as https://catalog.example:8443',
})

/** URL of a server without anything but scheme, host and port: other parts may contain a secret, and would be printed. */
export const originUrl = httpUrl.refine(
  (text) => isPlainUrl(text, /^\/$/),
  'expected scheme, host and port only',
)

/** URL of a receiver other than a catalog; must not contain a password. */
export const receiverUrl = httpUrl.refine(
  isWithoutPassword,
  'expected a URL without user and password; set `credential` to authenticate',
)

/** Adds the path of a signal, such as `/v1/logs`, to an OTLP URL without a path (OTLP/HTTP exporters do so). */
export function toSignalUrl(text: string, path: string): string {
  const url = new URL(text)
  if (url.pathname === '/' && url.search === '') url.pathname = path
  return url.href
}

/**
 * Whether content from this URL is authentic: fetched over https or from this machine. Keys fetched in clear text could
 * be replaced in transit, and with them every identity.
 */
export function isTrustworthyUrl(text: string): boolean {
  if (!isWithoutPassword(text)) return false
  const { protocol, hostname } = new URL(text)
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname.replace(/^\[(.*)\]$/, '$1')))
}

export const trustworthyUrlSchema = z.string().refine(isTrustworthyUrl, {
  error: 'expected an https URL without user and password (http only for this machine itself)',
})

function isWithoutPassword(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { username, password } = new URL(text)
  return username === '' && password === ''
}

/** Schema of the address that a server listens on: an IP address, or a name that resolves to one. */
export const listenHost = z.string().superRefine(
  refuse((host) => {
    if (isIP(host) !== 0 || hostNamePattern.test(host.toLowerCase())) return undefined
    const bare = /^\[(.+)\]$/.exec(host)?.[1] ?? ''
    return isIP(bare) === 6
      ? `expected an address without brackets: ${JSON.stringify(bare)}`
      : 'expected an IP address or a host name, without a port: "0.0.0.0"'
  }),
)

/** Where a server listens; port 0 picks a free one. */
export interface ListenAddress {
  readonly host: string
  readonly port: number
}

/** Whether a server cannot listen on one address because of another one that listens on the other. */
export function isSameListenAddress(one: ListenAddress, other: ListenAddress): boolean {
  if (one.port !== other.port || one.port === 0) return false
  const [host, otherHost] = [normalizeHost(one.host), normalizeHost(other.host)]
  return host === otherHost || isAnyAddress(host) || isAnyAddress(otherHost)
}

/** Whether a URL leads to a server on this machine that listens on the address. */
export function leadsToAddress(url: string, { host, port }: ListenAddress): boolean {
  if (!URL.canParse(url)) return false
  const { hostname, port: stated, protocol } = new URL(url)
  const target = normalizeHost(hostname.replace(/^\[|\]$/g, ''))
  if (Number(stated || (protocol === 'https:' ? 443 : 80)) !== port) return false
  const own = normalizeHost(host)
  return target === own || (isAnyAddress(own) && (isAnyAddress(target) || isLoopback(target)))
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host)
}

function normalizeHost(host: string): string {
  const lowerCase = host.toLowerCase()
  return lowerCase === 'localhost' ? '127.0.0.1' : lowerCase
}

function isAnyAddress(host: string): boolean {
  return host === '0.0.0.0' || host === '::'
}
