import { z } from 'zod'
import { fairnessSettings, repeatedNames } from '../limits/fairness-settings.ts'

const milliseconds = z.int().positive().max(2_147_483_647)
const count = z.int().positive()
const path = z.string().min(1)

const tlsSchema = z
  .strictObject({
    certificate: path.describe(
      'PEM: the certificate of the gateway, and those between it and its authority.',
    ),
    key: path.describe('PEM: the private key of the certificate.'),
    clientCertificate: z
      .enum(['none', 'optional', 'required'])
      .default('none')
      .describe('Whether clients are asked for a certificate; one that is offered must always be good.'),
    clientCertificateAuthority: path.optional().describe('PEM: who signs the certificates of clients.'),
    clientRevocationList: path
      .optional()
      .describe(
        'PEM: the certificates that the authority has revoked. If it is out of date, none is good. When it or ' +
          'clientCertificateAuthority changes, connections with a client certificate are closed.',
      ),
  })
  .refine(
    (tls) => (tls.clientCertificate === 'none') === (tls.clientCertificateAuthority === undefined),
    'expected clientCertificateAuthority where clientCertificate is optional or required, and only there',
  )
  .refine(
    (tls) => tls.clientRevocationList === undefined || tls.clientCertificate !== 'none',
    'expected clientRevocationList only where clientCertificate is optional or required',
  )

/** Where clients reach the gateway. The files of `tls` may change while it runs. */
export const listenSchema = z.strictObject({
  host: z.string().default('127.0.0.1').describe('The address that is listened on; 0.0.0.0 for all.'),
  port: z.int().min(0).max(65_535).default(2333).describe('0 picks a free one.'),
  tls: tlsSchema.optional().describe('TLS 1.2 or later instead of plain HTTP.'),
})

/** The most that is taken from a client, or from all of them. */
export const limitsSchema = z
  .strictObject({
    jsonBytes: count.default(4 * 1024 * 1024).describe('A JSON body that is read into memory.'),
    jsonMemoryBytes: count
      .default(256 * 1024 * 1024)
      .describe(
        'JSON bodies in memory at a time, of all requests. One principal may hold as much as stays free: half of it ' +
          'if it is alone. What is over is answered 503.',
      ),
    streamedJsonBytes: count
      .optional()
      .describe(
        'A JSON body that streams through, where nothing but its bytes matters; no limit unless set.',
      ),
    arrowBytes: count.optional().describe('An Arrow body; no limit unless set.'),
    maxBatchEntries: count
      .max(100_000)
      .default(1_000)
      .describe(
        'The entries of one batch: of new table versions, or of changes that are committed together.',
      ),
    headerBytes: count
      .min(8 * 1024)
      .max(1024 * 1024)
      .default(32 * 1024)
      .describe('The head of a request; bearer tokens may take 16 KiB of it.'),
    headerCount: count.default(128).describe('The headers of a request.'),
    connections: count
      .default(10_000)
      .describe(
        'Connections at a time; fewer if the process may not open as many files. When there are as many, the oldest one ' +
          'without a request gives way. One principal may have requests on half of them.',
      ),
    connectionsPerClient: count
      .optional()
      .describe(
        'Connections at a time from one address. Behind a load balancer all clients share its address.',
      ),
    bodyBytesPerSecond: count
      .default(500)
      .describe('A body that comes slower for as long as timeouts.bodyMs is given up.'),
    ...fairnessSettings,
  })
  .superRefine((limits, context) => {
    if (limits.jsonMemoryBytes < limits.jsonBytes)
      context.addIssue({
        code: 'custom',
        path: ['jsonMemoryBytes'],
        message: `expected at least jsonBytes (${limits.jsonBytes}), or such a body is never accepted`,
      })
    for (const name of repeatedNames(limits)) {
      context.addIssue({ code: 'custom', message: `there are two limits of the name "${name}"` })
    }
  })

/** How long a client is waited for, in milliseconds. */
export const timeoutsSchema = z.strictObject({
  headersMs: milliseconds
    .default(30_000)
    .describe(
      'From the start of a connection or a request to the end of the head; also for TLS to be agreed on.',
    ),
  bodyMs: milliseconds
    .default(30_000)
    .describe('Without a piece of a body. Only the time counts in which the gateway is ready for more.'),
  unreadMs: milliseconds.default(60_000).describe('Without anything taken of an answer that has been sent.'),
  keepAliveMs: milliseconds
    .default(75_000)
    .describe(
      'Idle after an answer: longer than a load balancer keeps idle connections, so that it closes first.',
    ),
  maxConnectionAgeMs: milliseconds
    .default(3_600_000)
    .describe(
      'Age of a connection after which its next response is the last one, with connection: close; up to a tenth less.',
    ),
  drainDelayMs: z
    .int()
    .min(0)
    .max(3_600_000)
    .default(0)
    .describe('Between a request to stop and the end of new connections: time for load balancers to notice.'),
  drainGraceMs: milliseconds
    .default(30_000)
    .describe('For requests under way at the end; then they are cut off.'),
  workerHangMs: milliseconds
    .min(1_000)
    .default(30_000)
    .describe('A worker that does not react for so long is killed, and another one takes its place.'),
})

export type ListenSettings = z.output<typeof listenSchema>
export type TlsSettings = z.output<typeof tlsSchema>
export type LimitSettings = z.output<typeof limitsSchema>
export type TimeoutSettings = z.output<typeof timeoutsSchema>
