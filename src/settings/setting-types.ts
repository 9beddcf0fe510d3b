import { z } from 'zod'
import { listTlsFiles, type TlsFiles, toError } from '../lib/index.ts'
import { isLoopback } from './listen-address.ts'

// What the sections of the settings share: types of values, and checks.

/** What is wrong with a setting, or with several that exclude each other. */
export interface SettingProblem {
  readonly path: readonly (string | number)[]
  readonly message: string
}

/** Adds problems to those of a schema. */
export function addProblems(context: z.core.$RefinementCtx, problems: Iterable<SettingProblem>): void {
  for (const { path, message } of problems) context.addIssue({ code: 'custom', path: [...path], message })
}

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

/** Schema of names, of which `findProblem` says what is wrong with one, given those before it. */
export function namesSetting(
  findProblem: (name: string, before: readonly string[]) => string | undefined,
  name = z.string(),
) {
  return z.array(name).superRefine((names, context) => {
    for (const [index, name] of names.entries()) {
      const problem = findProblem(name, names.slice(0, index))
      if (problem !== undefined)
        addProblems(context, [{ path: [index], message: `${JSON.stringify(name)}: ${problem}` }])
    }
  })
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

export const nonEmptyText = z.string().min(1)
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

export const httpUrl = z.url({ protocol: /^https?$/ })

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
