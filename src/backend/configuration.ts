import { z } from 'zod'
import { remoteSettingsSchema } from './remote-settings.ts'
import { dataSchema } from './storage/data-settings.ts'

const mebibyte = 1024 * 1024
const bytes = z.int().positive()

const postgresSchema = z
  .strictObject({
    url: z
      .url({ protocol: /^postgres(ql)?$/ })
      .optional()
      .meta({
        description:
          'postgresql://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=verify-full; better given as a file.',
        secret: true,
      }),
    urlFile: z.string().min(1).optional().describe('A file that holds the URL.'),
    schema: z
      .string()
      .regex(/^[a-z_][a-z0-9_]{0,62}$/)
      .default('public')
      .describe('Each catalog has a schema of its own; it is created where it is not there.'),
    maximumConnections: z
      .int()
      .min(2)
      .default(10)
      .describe('Of each replica; straight to PostgreSQL, or through a pooler that keeps sessions.'),
  })
  .refine(
    ({ url, urlFile }) => (url === undefined) !== (urlFile === undefined),
    'expected either url or urlFile',
  )

/** The settings of `catalog-gateway backend`, as they stand in its YAML file, one by one. */
const settingsSchema = z.strictObject({
  listen: z
    .strictObject({
      host: z
        .string()
        .min(1)
        .default('127.0.0.1')
        .describe('The address that is listened on; 0.0.0.0 for all.'),
      port: z.int().min(0).max(65_535).default(2335).describe('0 picks a free one.'),
    })
    .prefault({}),
  data: dataSchema
    .optional()
    .describe('Where the data of the tables lies, for a catalog that is embedded, with `store`.'),
  catalog: z
    .strictObject({
      remote: remoteSettingsSchema
        .optional()
        .describe('A catalog elsewhere, instead of an embedded one with `data` and `store`.'),
    })
    .prefault({}),
  store: z
    .strictObject({
      postgres: postgresSchema
        .optional()
        .describe('Without it, the catalog is a SQLite file, of one process at a time.'),
      folder: z
        .string()
        .min(1)
        .optional()
        .describe('Where that file lies, if not in the folder of the data.'),
    })
    .refine(
      ({ postgres, folder }) => postgres === undefined || folder === undefined,
      'expected at most one of postgres and folder',
    )
    .prefault({}),
  accessToken: z.string().min(16).regex(/^\S+$/, 'expected no white space').optional().meta({
    description:
      'What every request must send as a bearer token; without it, everybody who can connect is let in.',
    secret: true,
  }),
  limits: z
    .strictObject({
      jsonBytes: bytes.default(4 * mebibyte).describe('The largest JSON body.'),
      uploadBytes: bytes
        .default(512 * mebibyte)
        .describe('The largest Arrow body; a remote catalog sets limits of its own.'),
      uploadsBytes: bytes
        .default(1024 * mebibyte)
        .describe(
          'All Arrow bodies in memory at a time; with copies and rows, one takes five times its size.',
        ),
    })
    .refine(({ uploadBytes, uploadsBytes }) => uploadBytes <= uploadsBytes, {
      message: 'uploadsBytes must have room for one upload of uploadBytes',
    })
    .prefault({}),
  log: z
    .strictObject({
      level: z
        .enum(['error', 'warn', 'info', 'debug', 'silent'])
        .default('info')
        .describe('The least that is written.'),
    })
    .prefault({}),
})

/** The settings of `catalog-gateway backend`: the catalog is embedded, or elsewhere. */
export const backendSettingsSchema = settingsSchema
  .refine(({ data, catalog }) => (data === undefined) !== (catalog.remote === undefined), {
    path: ['data'],
    message: 'expected either data, or catalog.remote',
  })
  .refine(({ data, store }) => data?.s3 === undefined || (store.postgres ?? store.folder) !== undefined, {
    path: ['store'],
    message: 'with data in an object store, expected either postgres, or a folder for the SQLite file',
  })
  .refine(
    ({ store, catalog }) => catalog.remote === undefined || (store.postgres ?? store.folder) === undefined,
    {
      path: ['store'],
      message: 'a remote catalog has a store of its own',
    },
  )

/** The settings of a backend, checked, with every default filled in. */
export type BackendSettings = z.output<typeof backendSettingsSchema>

/** The settings of a backend whose catalog is embedded. */
export type EmbeddedSettings = BackendSettings & { readonly data: NonNullable<BackendSettings['data']> }
