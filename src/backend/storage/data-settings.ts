import { z } from 'zod'

const origin = z
  .url({ protocol: /^https?$/ })
  .refine(isOrigin, 'expected scheme, host and port alone')
  .optional()

const vendingSchema = z
  .strictObject({
    mode: z
      .enum(['none', 'location', 'temporary'])
      .default('none')
      .describe(
        'What DescribeTable and DeclareTable tell clients who open tables by themselves: nothing; endpoint, ' +
          'region and addressing; or temporary credentials for the one table besides.',
      ),
    role: z
      .string()
      .regex(/^arn:aws[a-z-]*:iam::[\w-]*:role\/[\w+=,.@/-]+$/, 'expected arn:aws:iam::ACCOUNT:role/NAME')
      .optional()
      .describe(
        'What the temporary credentials are of (AssumeRole of AWS STS). Each is confined to the prefix of a ' +
          'table, so the role needs rights to those of all tables.',
      ),
    access: z
      .enum(['read', 'write'])
      .default('read')
      .describe(
        'With write, data can be written, but no manifest: versions are committed through the catalog.',
      ),
    seconds: z
      .int()
      .min(900)
      .max(43_200)
      .default(3600)
      .describe('How long credentials are good, whatever becomes of the rights of who has them.'),
    stsEndpoint: origin.describe('Otherwise the endpoint of the data, or that of AWS in the region.'),
  })
  .refine(
    ({ mode, role }) => (mode === 'temporary') === (role !== undefined),
    'expected a role with the mode temporary, and with no other',
  )

const s3Schema = z.strictObject({
  location: z
    .string()
    .regex(
      /^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](\/[\w-][\w.-]*)+$/,
      'expected s3://BUCKET/PREFIX, of letters, digits, ".", "-", "_" and "/", without a "/" at the end',
    )
    .describe('s3://BUCKET/PREFIX. One catalog has a prefix for itself; its replicas share it.'),
  endpoint: origin.describe(
    'Of a store other than that of AWS; with http:, nothing is encrypted on the way.',
  ),
  region: z
    .string()
    .regex(/^[\w-]+$/)
    .optional()
    .describe('Otherwise AWS_REGION, or us-east-1.'),
  virtualHostedStyle: z
    .boolean()
    .default(false)
    .describe('Whether the bucket stands in front of the host, and not in the path.'),
  vending: vendingSchema.prefault({}),
})

/** Where the data of the tables lies. */
export const dataSchema = z
  .strictObject({
    folder: z.string().min(1).optional().describe('A folder; replicas share it under the same path.'),
    s3: s3Schema
      .optional()
      .describe(
        'An object store instead. It must honour If-None-Match on PUT. The credentials are those of the ' +
          'environment: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or what else AWS defines.',
      ),
  })
  .refine(({ folder, s3 }) => (folder === undefined) !== (s3 === undefined), 'expected either folder or s3')

/** The settings of the storage, checked. */
export type DataSettings = z.output<typeof dataSchema>

/** The settings of an object store, checked. */
export type S3Settings = NonNullable<DataSettings['s3']>

/** A key, a user or a password in it would be printed. */
function isOrigin(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { username, password, pathname, search, hash } = new URL(text)
  return [username, password, search, hash].every((part) => part === '') && pathname === '/'
}
