import { z } from 'zod'
import { originUrl, path } from 'catalog-gateway/commands'

const origin = originUrl.optional()

const vendingSchema = z
  .strictObject({
    mode: z
      .enum(['none', 'location', 'temporary'])
      .default('none')
      .describe(
        'What DescribeTable and DeclareTable return to clients that open tables directly: nothing; endpoint, ' +
          'region and addressing; or also temporary credentials for the table.',
      ),
    roleArn: z
      .string()
      .regex(/^arn:aws[a-z-]*:iam::[\w-]*:role\/[\w+=,.@/-]+$/, 'expected arn:aws:iam::ACCOUNT:role/NAME')
      .optional()
      .describe(
        'Role of the temporary credentials (AWS STS AssumeRole). Credentials are restricted to the prefix of one ' +
          'table, so the role needs access to all tables.',
      ),
    access: z
      .enum(['read', 'write'])
      .default('read')
      .describe('write allows data files but no manifests: versions are committed through the catalog.'),
    durationSeconds: z
      .int()
      .min(900)
      .max(43_200)
      .default(3600)
      .describe('Lifetime of credentials; revoked permissions take effect only after it.'),
    stsEndpoint: origin.describe('Default: the endpoint of the data, or that of AWS in the region.'),
  })
  .refine(
    ({ mode, roleArn }) => (mode === 'temporary') === (roleArn !== undefined),
    'expected roleArn if and only if mode is temporary',
  )

const s3Schema = z.strictObject({
  location: z
    .string()
    .regex(
      /^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](\/[\w-][\w.-]*)+$/,
      'expected s3://BUCKET/PREFIX, of letters, digits, ".", "-", "_" and "/", without a "/" at the end',
    )
    .describe('s3://BUCKET/PREFIX. A prefix belongs to one catalog and its replicas.'),
  endpoint: origin.describe('Endpoint of a store other than AWS; http: is not encrypted.'),
  region: z
    .string()
    .regex(/^[\w-]+$/)
    .optional()
    .describe('Default: AWS_REGION, or us-east-1.'),
  virtualHostedStyle: z
    .boolean()
    .default(false)
    .describe('Whether the bucket is part of the host name instead of the path.'),
  vending: vendingSchema.prefault({}),
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
