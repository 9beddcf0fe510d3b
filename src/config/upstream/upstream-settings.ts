import { z } from 'zod'
import {
  dashedName,
  expectHttpsIfTlsFiles,
  findDuplicates,
  findErrorMessage,
  httpUrl,
  isPlainUrl,
  milliseconds,
  nonEmptyText,
  path,
  refuse,
  type SettingProblem,
  tlsFiles,
} from '../../settings/index.ts'
import {
  assertIdentifier,
  assertSeparable,
  headerDialectNames,
  type Identifier,
  listSeparators,
} from '../../catalog-api/index.ts'
import { allowedHeadersSettings } from './allowed-headers-settings.ts'
import { allowedMembersSetting } from './allowed-members-setting.ts'
import { extraOperationsSetting, findExtraOperationProblems } from './extra-operations-setting.ts'

/** Credential of one service for another: the value of a header. */
const credentialSchema = z
  .strictObject({
    header: z
      .enum(['authorization', 'x-api-key'])
      .default('authorization')
      .describe('Header of the credential.'),
    value: nonEmptyText
      .optional()
      .meta({ description: 'Header value; use `file` for secrets.', secret: true }),
    file: path.optional().describe('File with the header value, or with a Bearer token alone.'),
  })
  .refine(
    ({ value, file }) => (value === undefined) !== (file === undefined),
    'expected either value or file',
  )
  .superRefine(
    refuse(({ header, value }) => {
      const message = value && findCredentialProblem(header, value)
      return message ? [{ path: ['value'], message }] : []
    }),
  )

/** Printed instead of a secret, and refused as one. */
export const redactedValue = '(hidden)'

/** Returns why a value cannot be that of the header; undefined if it can. The message does not contain the value. */
export function findCredentialProblem(header: string, value: string): string | undefined {
  if (value === redactedValue)
    return 'is a placeholder for a secret; expected the secret, or a file that contains it'
  // RFC 9110, section 11.4.
  const hasScheme = header !== 'authorization' || /^[A-Za-z][\w.+-]* +\S/.test(value.trim())
  return hasScheme ? undefined : 'has no scheme; expected a value such as "Bearer TOKEN"'
}

/** Header-safe parts, joined by slashes. */
const databasePattern = /^[\x21-\x2e\x30-\x7e]+(\/[\x21-\x2e\x30-\x7e]+)*$/

const upstreamFieldsSchema = z.strictObject({
  name: dashedName.default('catalog').describe('Name in metrics, the log and audit records.'),
  url: httpUrl
    .refine(
      (text) => isPlainUrl(text),
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
  ...tlsFiles,
  credential: credentialSchema.optional().describe('Credential of the gateway.'),
  identity: z
    .enum(['none', 'original', 'assertion'])
    .default('none')
    .describe(
      'How the caller is identified to the upstream: not at all, with its original credential, or with a signed assertion.',
    ),
  database: z
    .string()
    .regex(databasePattern, 'expected the name of a database, and its prefix if it has one: "sales/eu"')
    .optional()
    .describe(
      'Database of a LanceDB server, as in db://DATABASE/PREFIX, for all requests. For clients of LanceDB, it is the ' +
        'database of the root. Without it, no database is sent.',
    ),
  ...allowedHeadersSettings,
  allowedMembers: allowedMembersSetting,
  extraOperations: extraOperationsSetting,
  maxConnections: z
    .int()
    .positive()
    .default(128)
    .describe(
      'Maximum connections for small requests; listings have an eighth as many of their own, at least 4, and streamed ' +
        'bodies (Arrow, large JSON) 1,024.',
    ),
  timeouts: z
    .strictObject({ totalTimeoutMs: milliseconds.default(3_600_000).describe('For a whole attempt.') })
    .prefault({}),
})

export const upstreamSchema = upstreamFieldsSchema
  .superRefine(expectHttpsIfTlsFiles)
  .superRefine(
    refuse((upstream) =>
      findExtraOperationProblems([upstream]).map(({ path, message }) => ({ path: path.slice(1), message })),
    ),
  )

/** Settings of several upstreams: each serves its namespaces; the one without namespaces serves the rest. */
export const upstreamsSchema = z
  .array(
    upstreamFieldsSchema
      .extend({
        namespaces: z
          .array(
            z
              .array(z.string())
              .min(1)
              .superRefine(refuse((id) => findErrorMessage(() => assertIdentifier(id)))),
          )
          .min(1)
          .optional()
          .describe('Namespaces of this upstream, each as a list of names.'),
      })
      .superRefine(expectHttpsIfTlsFiles),
  )
  .min(1)
  .superRefine(refuse(findExtraOperationProblems))
  .superRefine(refuse((upstreams) => findDuplicates(upstreams, 'name', 'upstream name')))
  .superRefine(refuse(findNamespaceProblems))

function* findNamespaceProblems(
  upstreams: readonly {
    readonly namespaces?: readonly Identifier[] | undefined
    readonly delimiter: string
  }[],
): Generator<SettingProblem> {
  const prefixes = new Set<string>()
  for (const [index, { namespaces = [], delimiter }] of upstreams.entries()) {
    for (const [position, namespace] of namespaces.entries()) {
      const path = [index, 'namespaces', position]
      const prefix = JSON.stringify(namespace)
      if (prefixes.has(prefix)) yield { path, message: `${prefix} is assigned to two upstreams` }
      prefixes.add(prefix)
      const message = findErrorMessage(() => assertSeparable(namespace, listSeparators(delimiter)))
      if (message !== undefined) yield { path, message }
    }
  }
  if (upstreams.filter(({ namespaces }) => namespaces === undefined).length !== 1) {
    const message = 'expected exactly one upstream without namespaces: it serves the root and everything else'
    yield { path: [], message }
  }
}

export type UpstreamSettings = z.output<typeof upstreamSchema> & {
  readonly namespaces?: readonly Identifier[] | undefined
}
