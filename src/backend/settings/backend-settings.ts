import { listenHost, originUrl, outboundSchema, path } from 'catalog-gateway/settings'
import { z } from 'zod'

const s3Schema = z.strictObject({
  location: z
    .string()
    .regex(
      /^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](\/[\w-][\w.-]*)+$/,
      'expected s3://BUCKET/PREFIX, of letters, digits, ".", "-", "_" and "/", without a "/" at the end',
    )
    .describe('s3://BUCKET/PREFIX. A prefix belongs to one catalog and its replicas.'),
  endpoint: originUrl.optional().describe('Endpoint of a store other than AWS; http: is not encrypted.'),
  region: z
    .string()
    .regex(/^[\w-]+$/)
    .optional()
    .describe('Default: AWS_REGION, or us-east-1.'),
  virtualHostedStyle: z
    .boolean()
    .default(false)
    .describe('Whether the bucket is part of the host name instead of the path.'),
})

export const dataSchema = z
  .strictObject({
    folder: path.optional().describe('Data folder; shared by replicas under the same path.'),
    s3: s3Schema
      .optional()
      .describe(
        'An object store that supports If-None-Match on PUT. Credentials come from the ' +
          'environment: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or another AWS provider.',
      ),
  })
  .refine(({ folder, s3 }) => (folder === undefined) !== (s3 === undefined), 'expected either folder or s3')

export type DataSettings = z.output<typeof dataSchema>

export type S3Settings = NonNullable<DataSettings['s3']>

const mebibyte = 1024 * 1024
const bytes = z.int().positive()

/** Whether neither the authority of a URL nor its parameter `host` is a list. */
function namesOneHost(url: string): boolean {
  return !/^[a-z]+:\/\/(?:[^/?#]*@)?[^/?#@]*,[^/?#@]*(?:[/?#]|$)|[?&]host=[^&]*,/.test(url)
}

/** A URL of PostgreSQL, in the settings or in the file that they name. */
export const postgresUrlSchema = z
  .string()
  .regex(/^postgres(ql)?:\/\//, 'expected postgresql://USER:PASSWORD@HOST:PORT/DATABASE')
  .refine(
    namesOneHost,
    'expected one host, as the driver knows no list of hosts: use an address that follows the primary, such as that of a ' +
      'service or a proxy',
  )

const postgresSchema = z
  .strictObject({
    url: postgresUrlSchema.optional().meta({
      description:
        'postgresql://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=verify-full; use urlFile for secrets.',
      secret: true,
    }),
    urlFile: path.optional().describe('File with the URL; changes of its user and password are followed.'),
    schema: z
      .string()
      .regex(/^[a-z_][a-z0-9_]{0,62}$/)
      .default('public')
      .describe('Database schema, one for each catalog; created if missing.'),
    maxConnections: z
      .int()
      .min(2)
      .default(10)
      .describe(
        'Maximum connections of each replica; connect directly, or through a pooler in session mode.',
      ),
  })
  .refine(
    ({ url, urlFile }) => (url === undefined) !== (urlFile === undefined),
    'expected either url or urlFile',
  )

export const accessTokenSchema = z.string().min(16).regex(/^\S+$/, 'expected no white space')

/** Settings of `catalog-gateway backend`. */
export const backendSettingsSchema = z
  .strictObject({
    listen: z
      .strictObject({
        host: listenHost.default('127.0.0.1').describe('Listen address; 0.0.0.0 for all interfaces.'),
        port: z.int().min(0).max(65_535).default(2335).describe('0 picks a free one.'),
      })
      .prefault({}),
    data: dataSchema.describe('Storage of table data.'),
    store: z
      .strictObject({
        postgres: postgresSchema
          .optional()
          .describe('PostgreSQL database; by default SQLite, for a single process.'),
        folder: path.optional().describe('Folder of the SQLite file; default: the data folder.'),
      })
      .refine(
        ({ postgres, folder }) => postgres === undefined || folder === undefined,
        'expected at most one of postgres and folder',
      )
      .prefault({}),
    outbound: outboundSchema
      .prefault({})
      .describe('Connections to other hosts: proxy, and trusted authorities.'),
    accessToken: accessTokenSchema.optional().meta({
      description: 'Bearer token required of every request; without it, requests are not authenticated.',
      secret: true,
    }),
    accessTokenFiles: z
      .array(path)
      .min(1)
      .max(2)
      .optional()
      .describe(
        'Files with access tokens instead of `accessToken`. Each token is accepted, and changes are followed, so that ' +
          'one token can replace another without refused requests. A missing file is ignored, but one must exist.',
      ),
    limits: z
      .strictObject({
        maxJsonBytes: bytes.default(4 * mebibyte).describe('Maximum size of a JSON body.'),
        maxUploadBytes: bytes.default(512 * mebibyte).describe('Maximum size of an Arrow body.'),
        maxUploadMemoryBytes: bytes
          .default(1024 * mebibyte)
          .describe(
            'Memory for all concurrent Arrow bodies; processing takes up to five times the size of a body.',
          ),
      })
      .refine(({ maxUploadBytes, maxUploadMemoryBytes }) => maxUploadBytes <= maxUploadMemoryBytes, {
        message: 'expected maxUploadMemoryBytes to be at least maxUploadBytes',
      })
      .prefault({}),
    log: z
      .strictObject({
        level: z
          .enum(['error', 'warn', 'info', 'debug', 'silent'])
          .default('info')
          .describe('Minimum log level.'),
      })
      .prefault({}),
  })
  .refine(
    ({ accessToken, accessTokenFiles }) => accessToken === undefined || accessTokenFiles === undefined,
    {
      path: ['accessTokenFiles'],
      message: 'expected either accessToken or accessTokenFiles',
    },
  )
  .refine(({ data, store }) => data.s3 === undefined || (store.postgres ?? store.folder) !== undefined, {
    path: ['store'],
    message: 'with data in an object store, expected either postgres, or a folder for the SQLite file',
  })

export type BackendSettings = z.output<typeof backendSettingsSchema>
