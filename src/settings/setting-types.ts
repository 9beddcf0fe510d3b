import { isIP } from 'node:net'
import { z } from 'zod'
import { hostNamePattern, listTlsFiles, type TlsFiles, toError } from '../lib/index.ts'

// Types of values and checks for the sections of the settings.

/** An error in a setting, or in several that exclude each other. */
export interface SettingProblem {
  readonly path: readonly (string | number)[]
  readonly message: string
}

/** For `superRefine`: refuses a value for the problems that `find` returns about it or the settings in it. */
export function refuse<Value>(find: (value: Value) => string | undefined | Iterable<SettingProblem>) {
  return (value: Value, context: z.core.$RefinementCtx): void => {
    const found = find(value) ?? []
    for (const { path, message } of typeof found === 'string' ? [{ path: [], message: found }] : found)
      context.addIssue({ code: 'custom', path: [...path], message })
  }
}

/** For `superRefine`: only if nothing else is wrong so far. An invalid value does not have the type of a valid one. */
export const ifValid = { when: ({ issues }: z.core.ParsePayload) => issues.length === 0 }

/** Finds the items with a value of a member that an item before them has. `kind` says for messages what the member is. */
export function findDuplicates<Item>(
  items: readonly Item[],
  member: keyof Item & string,
  kind: string,
): readonly SettingProblem[] {
  const values = items.map((item) => item[member])
  return values.flatMap((value, index) =>
    value === undefined || values.indexOf(value) === index
      ? []
      : [{ path: [index, member], message: `duplicate ${kind} "${String(value)}"` }],
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

/** For `superRefine`: TLS files have no effect on a URL without TLS. */
export const expectHttpsIfTlsFiles = refuse((settings: TlsFiles & { readonly url: string }) =>
  listTlsFiles(settings).length === 0 || settings.url.startsWith('https:')
    ? undefined
    : 'expected an https URL, because TLS files are set',
)

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

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host)
}
