import { z } from 'zod'
import { callerLimitFields, findRepeatedNames } from './caller-limit-settings.ts'

const milliseconds = z.int().positive().max(2_147_483_647)
const count = z.int().positive()
const path = z.string().min(1)
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
    clientCaFile: path.optional().describe('PEM file: the CA certificates of clients.'),
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

/** The files of `tls` may change at run time. */
export const listenSchema = z.strictObject({
  host: z.string().default('127.0.0.1').describe('Listen address; 0.0.0.0 for all interfaces.'),
  port: z.int().min(0).max(65_535).default(2333).describe('0 picks a free one.'),
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
  http2: z
    .boolean()
    .default(true)
    .describe('Whether HTTP/2 is offered beside HTTP/1.1 (ALPN); it takes effect with tls only.'),
  h2c: z
    .boolean()
    .default(false)
    .describe('Whether HTTP/2 is accepted without TLS from clients that begin with it (prior knowledge).'),
  parser: z
    .enum(['own', 'node'])
    .default('own')
    .describe(
      'Parser of HTTP/1.1: that of the gateway, which is faster and stricter, or that of Node.js (llhttp). HTTP/2 is ' +
        'always parsed by Node.js (nghttp2).',
    ),
})

export const limitsSchema = z
  .strictObject({
    maxJsonBytes: count
      .default(4 * 1024 * 1024)
      .describe('Maximum size of a JSON body that is read into memory.'),
    maxJsonMemoryBytes: count
      .default(256 * 1024 * 1024)
      .describe(
        'Memory for JSON bodies of all concurrent requests. One principal may use as much as stays free: half of it ' +
          'if it is alone. Requests over the limit get 503.',
      ),
    maxStreamedJsonBytes: count
      .optional()
      .describe('Maximum size of a streamed JSON body; default: no limit.'),
    maxArrowBytes: count.optional().describe('Maximum size of an Arrow body; default: no limit.'),
    maxBatchEntries: count
      .max(100_000)
      .default(1_000)
      .describe('Maximum entries of a batch of table versions or changes.'),
    maxHeaderBytes: count
      .min(8 * 1024)
      .max(1024 * 1024)
      .default(32 * 1024)
      .describe('Maximum size of the request head; bearer tokens may take 16 KiB of it.'),
    maxHeaderCount: count.default(128).describe('Maximum number of request headers.'),
    maxConnections: count
      .default(10_000)
      .describe(
        'Maximum connections; lowered if the process has too few file descriptors. At the limit, the oldest connection ' +
          'without a request is closed. One principal may use half of them.',
      ),
    maxConnectionsPerAddress: count
      .optional()
      .describe('Maximum connections of one address. Behind a load balancer all clients share its address.'),
    minBodyBytesPerSecond: count
      .default(500)
      .describe('Minimum rate of a request body; slower bodies are rejected after timeouts.bodyTimeoutMs.'),
    ...callerLimitFields,
  })
  .superRefine((limits, context) => {
    if (limits.maxJsonMemoryBytes < limits.maxJsonBytes)
      context.addIssue({
        code: 'custom',
        path: ['maxJsonMemoryBytes'],
        message: `expected at least maxJsonBytes (${limits.maxJsonBytes})`,
      })
    for (const name of findRepeatedNames(limits)) {
      context.addIssue({ code: 'custom', message: `duplicate limit name "${name}"` })
    }
  })

export const timeoutsSchema = z.strictObject({
  headersTimeoutMs: milliseconds
    .default(30_000)
    .describe(
      'From the start of a connection or request to the end of the request head; also for the TLS handshake.',
    ),
  bodyTimeoutMs: milliseconds
    .default(30_000)
    .describe('Between two chunks of a request body, while the gateway reads.'),
  sendTimeoutMs: milliseconds
    .default(60_000)
    .describe('Close if the client reads nothing of a response for this long.'),
  keepAliveTimeoutMs: milliseconds
    .default(75_000)
    .describe(
      'Idle time after a response; longer than the idle timeout of a load balancer, so that it closes first.',
    ),
  maxConnectionAgeMs: milliseconds
    .default(3_600_000)
    .describe(
      'Age after which a connection is closed with its next response (connection: close), minus a jitter of up to 10 %.',
    ),
  drainDelayMs: z
    .int()
    .min(0)
    .max(3_600_000)
    .default(0)
    .describe('Between the stop signal and the end of new connections: time for load balancers to notice.'),
  drainTimeoutMs: milliseconds
    .default(30_000)
    .describe('Time for active requests to complete during shutdown; then they are aborted.'),
  workerTimeoutMs: milliseconds
    .min(1_000)
    .default(30_000)
    .describe('A worker that is unresponsive for this long is killed and replaced.'),
})

export type ListenSettings = z.output<typeof listenSchema>
export type TlsSettings = z.output<typeof tlsSchema>
export type LimitSettings = z.output<typeof limitsSchema>
export type TimeoutSettings = z.output<typeof timeoutsSchema>
