import { z } from 'zod'
import { catalogAddress } from '../../interface/catalog-address.ts'
import { tlsFiles } from '../../lib/tls/tls-files.ts'
import {
  assertIdentifier,
  assertSeparable,
  defaultDelimiter,
  show,
  type Identifier,
} from '../../interface/identifiers.ts'
import { allowedHeadersSettings } from './allowed-headers.ts'
import { callerIdentities } from './caller-headers.ts'

const milliseconds = z.int().positive().max(2_147_483_647)

const timeoutsSchema = z.strictObject({
  waitMs: milliseconds.default(10_000).describe('For a free connection.'),
  connectMs: milliseconds.default(5_000).describe('To connect, TLS included.'),
  answerMs: milliseconds
    .default(300_000)
    .describe(
      'From the end of the request to the head of the answer; for an upload, between two pieces taken.',
    ),
  idleMs: milliseconds.default(60_000).describe('Between two pieces of an answer.'),
  takeMs: milliseconds.default(300_000).describe('For a client to take something of an answer.'),
  totalMs: milliseconds.default(3_600_000).describe('For all of an exchange.'),
})

const healthSchema = z.strictObject({
  path: z
    .string()
    .regex(/^\/[\x21-\x7e]*$/)
    .optional()
    .describe('What is asked for; one name of the root namespace unless told.'),
  intervalMs: milliseconds.default(5_000).describe('Between two checks.'),
  timeoutMs: milliseconds.default(2_000).describe('For the answer to a check.'),
})

const breakerSchema = z.strictObject({
  failures: z
    .int()
    .positive()
    .default(5)
    .describe('Consecutive failed requests after which the upstream is checked at once.'),
  probeMs: milliseconds.default(1_000).describe('Between two checks while they fail.'),
})

const retriesSchema = z.strictObject({
  attempts: z.int().min(0).max(5).default(1).describe('How often a read is sent again at most.'),
  budgetPercent: z.int().min(0).max(100).default(20).describe('Repeats as a share of all requests.'),
})

/** Parts that a header can hold, joined by slashes. */
const databaseGrammar = /^[\x21-\x2e\x30-\x7e]+(\/[\x21-\x2e\x30-\x7e]+)*$/

const upstreamObject = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,62}$/)
    .default('catalog')
    .describe('Names it in metrics, the log and audit records.'),
  ...catalogAddress,
  reservedInNames: z
    .array(z.string().min(1).max(16))
    .default([defaultDelimiter])
    .describe(
      'What no name may hold besides the delimiter: catalogs exist that join the parts of an id by `$`, unescaped, ' +
        'whatever the delimiter. Empty for one that never does.',
    ),
  clientCertificate: tlsFiles.clientCertificate,
  serverName: z
    .string()
    .min(1)
    .optional()
    .describe('The name that the certificate must be for, where it is not the host of the URL.'),
  credential: catalogAddress.credential.describe('What the gateway authenticates itself with.'),
  identity: z
    .enum(callerIdentities)
    .default('none')
    .describe('What tells the upstream who calls: nothing, the credential as sent, or a signed assertion.'),
  database: z
    .string()
    .regex(databaseGrammar, 'expected the name of a database, and its prefix if it has one: "sales/eu"')
    .optional()
    .describe(
      'Of a LanceDB server: the database, as in db://DATABASE/PREFIX, that every request is sent to. A caller that ' +
        'names another one is refused. Without it, no database is sent, and callers may name any.',
    ),
  ...allowedHeadersSettings,
  maximumConnections: catalogAddress.maximumConnections.describe(
    'Connections to it at a time for small requests.',
  ),
  maximumBulkConnections: z
    .int()
    .positive()
    .default(1_024)
    .describe(
      'Connections to it at a time for requests whose body streams, up or down: Arrow, large JSON. One principal may ' +
        'hold as many as stay free: half of them if it is alone.',
    ),
  maximumWaiting: z
    .int()
    .min(0)
    .default(4_096)
    .describe('Requests that may wait for a connection of either kind; one principal may have half of them.'),
  timeouts: timeoutsSchema.prefault({}),
  health: healthSchema.prefault({}),
  breaker: breakerSchema.prefault({}),
  retries: retriesSchema.prefault({}),
})

const tlsForHttp = 'expected an https URL, since there are certificates or a server name for it'

/** The one catalog behind the gateway, as it stands in the settings. */
export const upstreamSchema = upstreamObject.refine(isTlsWhereTold, tlsForHttp)

/** The catalogs behind the gateway: each but one serves what lies beneath its namespaces, that one the rest. */
export const upstreamsSchema = z
  .array(
    upstreamObject
      .extend({
        namespaces: z
          .array(z.array(z.string()).min(1).refine(isIdentifier, 'expected names, each a part of an id'))
          .min(1)
          .optional()
          .describe('The namespaces that lie here, each as the list of its parts.'),
      })
      .refine(isTlsWhereTold, tlsForHttp),
  )
  .min(1)
  .superRefine((upstreams, context) => {
    const mistake = (path: (string | number)[], message: string): void =>
      context.addIssue({ code: 'custom', path, message })
    const names = new Set<string>()
    const prefixes = new Set<string>()
    for (const [index, { name, namespaces = [], delimiter, reservedInNames }] of upstreams.entries()) {
      if (names.has(name)) mistake([index, 'name'], `there are two upstreams of the name "${name}"`)
      names.add(name)
      for (const [position, namespace] of namespaces.entries()) {
        const prefix = JSON.stringify(namespace)
        if (prefixes.has(prefix)) mistake([index, 'namespaces', position], `${prefix} lies at two upstreams`)
        prefixes.add(prefix)
        const separators = [delimiter, ...reservedInNames]
        if (!isSeparable(namespace, separators)) {
          mistake(
            [index, 'namespaces', position],
            `${prefix} has a name that holds one of ${separators.map(show).join(', ')}; expected none that the ` +
              'delimiter or reservedInNames rules out',
          )
        }
      }
    }
    if (upstreams.filter(({ namespaces }) => namespaces === undefined).length !== 1) {
      mistake([], 'expected exactly one upstream without namespaces: it serves the root and everything else')
    }
  })

/** How one upstream is reached, checked, with every default filled in. */
export type UpstreamSettings = z.output<typeof upstreamSchema> & {
  readonly namespaces?: readonly Identifier[] | undefined
}

function isIdentifier(parts: readonly string[]): boolean {
  try {
    return assertIdentifier(parts) === parts
  } catch {
    return false
  }
}

function isSeparable(namespace: Identifier, separators: readonly string[]): boolean {
  try {
    assertSeparable(namespace, separators)
    return true
  } catch {
    return false
  }
}

function isTlsWhereTold(settings: z.output<typeof upstreamObject>): boolean {
  const { url, certificateAuthority, clientCertificate, serverName } = settings
  const isTold = [certificateAuthority, clientCertificate, serverName].some((value) => value !== undefined)
  return !isTold || url.startsWith('https:')
}
