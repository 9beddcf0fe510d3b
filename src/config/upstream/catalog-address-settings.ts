import { z } from 'zod'
import { headerDialectNames } from '../../catalog-api/headers.ts'

const path = z.string().min(1)

/** Credential of one service for another: the value of a header. */
const credentialSchema = z
  .strictObject({
    header: z
      .enum(['authorization', 'x-api-key'])
      .default('authorization')
      .describe('Header of the credential.'),
    value: z
      .string()
      .min(1)
      .optional()
      .meta({ description: 'Header value; use `file` for secrets.', secret: true }),
    file: path.optional().describe('File with the header value.'),
  })
  .refine(
    ({ value, file }) => (value === undefined) !== (file === undefined),
    'expected either value or file',
  )
  .superRefine(({ header, value }, context) => {
    const problem = value === undefined ? undefined : findCredentialProblem(header, value)
    if (problem !== undefined) context.addIssue({ code: 'custom', path: ['value'], message: problem })
  })

/** Returns why a value cannot be that of the header; undefined if it can. The message does not contain the value. */
export function findCredentialProblem(header: string, value: string): string | undefined {
  // RFC 9110, section 11.4.
  const hasScheme = header !== 'authorization' || /^[A-Za-z][\w.+-]* +\S/.test(value.trim())
  return hasScheme ? undefined : 'has no scheme; expected a value such as "Bearer TOKEN"'
}

export const catalogAddressSettings = {
  url: z
    .url({ protocol: /^https?$/ })
    .refine(
      isPlainUrl,
      'expected a URL without user, password, query and fragment; set `credential` to authenticate',
    )
    .describe('URL of the catalog; a path is prepended to every route.'),
  delimiter: z.string().min(1).max(16).default('$').describe('Delimiter of ids in this catalog.'),
  headerDialect: z
    .enum(headerDialectNames)
    .default('catalog')
    .describe(
      'Names of the headers for context, location and properties that this catalog reads: x-catalog-*, or x-lance-* as ' +
        'servers of Lance do.',
    ),
  caFile: path
    .optional()
    .describe('PEM file: CA certificates to trust instead of those of the system and of `outbound.caFile`.'),
  credential: credentialSchema.optional(),
  maxConnections: z.int().positive().default(128).describe('Maximum connections.'),
}

type AddressFiles = {
  readonly caFile?: string | undefined
  readonly credential?: z.output<typeof credentialSchema> | undefined
}

export function resolveAddressFiles<Settings extends AddressFiles>(
  settings: Settings,
  absolute: (path: string) => string,
): Settings {
  const { caFile, credential } = settings
  return {
    ...settings,
    ...(caFile !== undefined && { caFile: absolute(caFile) }),
    ...(credential?.file !== undefined && { credential: { ...credential, file: absolute(credential.file) } }),
  }
}

/** Parts besides scheme, host and path would be ignored, or print a secret. */
function isPlainUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { username, password, search, hash } = new URL(text)
  return [username, password, search, hash].every((part) => part === '')
}
