import { isIPv6 } from 'node:net'
import { z } from 'zod'
import { findDuplicates, listenHost, milliseconds, path, portNumber, refuse } from '../settings/index.ts'
import { validateAddressRange } from '../lib/index.ts'
import { callerLimitFields } from './caller-limit-settings.ts'

const count = z.int().positive()
/** Segments of unreserved characters (RFC 3986, 2.3), which no reader decodes or normalizes; no dot segments. */
export const basePathPattern = /^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9\-._~]+)+$/

const tlsSchema = z
  .strictObject({
    certFile: path.describe('PEM file: the certificate chain of the gateway.'),
    keyFile: path.describe('PEM file: the private key of the certificate.'),
    clientAuth: z
      .enum(['none', 'optional', 'required'])
      .default('none')
      .describe('Whether client certificates are requested; a presented certificate must always be valid.'),
    clientCaFile: path
      .optional()
      .describe('PEM file: the CA certificates of clients, intermediate ones and self-signed ones.'),
    clientCrlFile: path
      .optional()
      .describe(
        'PEM file: certificate revocation list. If it has expired, all client certificates are rejected. When it or ' +
          'clientCaFile changes, connections with a client certificate are closed.',
      ),
  })
  .refine(
    (tls) => (tls.clientAuth === 'none') === (tls.clientCaFile === undefined),
    'expected clientCaFile if and only if clientAuth is optional or required',
  )
  .refine(
    (tls) => tls.clientCrlFile === undefined || tls.clientAuth !== 'none',
    'expected clientCrlFile only if clientAuth is optional or required',
  )

const trustedProxy = z.string().superRefine(refuse(findRangeProblem)).transform(toRange)

function findRangeProblem(text: string): string | undefined {
  if (validateAddressRange(toRange(text)) !== undefined)
    return `${JSON.stringify(text)} is not an address or a range; expected for example "10.0.0.0/8" or "2001:db8::1"`
  return /^::ffff:/i.test(text) ? 'expected an IPv4 range in place of an IPv4-mapped one' : undefined
}

function toRange(text: string): string {
  return text.includes('/') ? text : `${text}/${isIPv6(text) ? 128 : 32}`
}

/** The files of `tls` may change at run time. */
export const listenSchema = z.strictObject({
  host: listenHost.default('127.0.0.1').describe('Listen address; 0.0.0.0 for all interfaces.'),
  port: portNumber.default(2333).describe('0 picks a free one.'),
  basePath: z
    .string()
    .regex(
      basePathPattern,
      'expected a path of letters, digits, "-", ".", "_", "~" and "/", without a slash at its end: "/lance"',
    )
    .optional()
    .describe(
      'Path before all paths of the catalog API and its documents: with /lance, the URL of the catalog ends in ' +
        '/lance, and no other path is served.',
    ),
  tls: tlsSchema.optional().describe('TLS 1.2 or later instead of plain HTTP.'),
  trustedProxies: z
    .array(trustedProxy)
    .default([])
    .describe(
      'Addresses of proxies and load balancers in front, as CIDR ranges. Of their requests, the client is the one that ' +
        'X-Forwarded-For states; nothing that other peers state is used. See docs/traffic.md.',
    ),
  clientCertificateFrom: z
    .enum(['client-cert', 'x-forwarded-client-cert'])
    .optional()
    .describe(
      'Header in which trusted proxies state the certificate of the client that they have verified: client-cert ' +
        '(RFC 9440), or x-forwarded-client-cert of Envoy with Cert. They must set or remove it in every request.',
    ),
})

export const limitsSchema = z
  .strictObject({
    maxJsonBytes: count
      .default(16 * 1024 * 1024)
      .describe('Maximum size of a JSON body, which is read into memory.'),
    maxArrowBytes: count.optional().describe('Maximum size of an Arrow body; default: no limit.'),
    maxConnections: count
      .default(10_000)
      .describe(
        'Maximum connections; lowered if the process has too few file descriptors. At the limit, the oldest connection ' +
          'without a request is closed. One principal may use half of them.',
      ),
    maxConnectionsPerAddress: count
      .optional()
      .describe(
        'Maximum connections of one address (IPv6: of one /64 network); those of listen.trustedProxies are not counted.',
      ),
    ...callerLimitFields,
  })
  .superRefine(
    // Callers could not distinguish limits of the same name.
    refuse(({ rates, concurrency }) =>
      findDuplicates([...rates, ...concurrency], 'name', 'limit name').map(({ message }) => ({
        path: [],
        message,
      })),
    ),
  )

export const timeoutsSchema = z.strictObject({
  keepAliveTimeoutMs: milliseconds
    .default(75_000)
    .describe(
      'Idle time after a response; longer than the idle timeout of a load balancer, so that it closes first.',
    ),
  drainTimeoutMs: milliseconds
    .default(30_000)
    .describe('Time for active requests to complete during shutdown; then they are aborted.'),
})

export type ListenSettings = z.output<typeof listenSchema>
export type TlsSettings = z.output<typeof tlsSchema>
