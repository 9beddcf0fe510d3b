import { z } from 'zod'

const mebibyte = 1024 * 1024
const bytes = z.int().positive()

const postgresSchema = z
  .strictObject({
    url: z
      .url({ protocol: /^postgres(ql)?$/ })
      .optional()
      .describe('postgresql://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=verify-full; better given as a file.'),
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

/** The settings of the reference catalog, as they stand in its YAML file. */
export const backendSettingsSchema = z.strictObject({
  listen: z
    .strictObject({
      host: z.string().min(1).default('127.0.0.1'),
      port: z.int().min(0).max(65_535).default(2335).describe('0 picks a free one.'),
    })
    .prefault({}),
  data: z.strictObject({
    folder: z
      .string()
      .min(1)
      .describe('Where the data of the tables lies; replicas share it under the same path.'),
  }),
  store: z
    .strictObject({
      postgres: postgresSchema
        .optional()
        .describe('Without it, the catalog is a SQLite file in the data folder, of one process at a time.'),
    })
    .prefault({}),
  accessToken: z
    .string()
    .min(16)
    .regex(/^\S+$/, 'expected no white space')
    .optional()
    .describe(
      'What every request must send as a bearer token; without it, everybody who can connect is let in.',
    ),
  limits: z
    .strictObject({
      jsonBytes: bytes.default(4 * mebibyte).describe('The largest JSON body.'),
      uploadBytes: bytes.default(512 * mebibyte).describe('The largest Arrow body.'),
      uploadsBytes: bytes.default(1024 * mebibyte).describe('All Arrow bodies that are in memory at a time.'),
    })
    .refine(({ uploadBytes, uploadsBytes }) => uploadBytes <= uploadsBytes, {
      message: 'uploadsBytes must have room for one upload of uploadBytes',
    })
    .prefault({}),
  log: z
    .strictObject({ level: z.enum(['error', 'warn', 'info', 'debug', 'silent']).default('info') })
    .prefault({}),
})

/** The settings of the reference catalog, checked, with every default filled in. */
export type BackendSettings = z.output<typeof backendSettingsSchema>
