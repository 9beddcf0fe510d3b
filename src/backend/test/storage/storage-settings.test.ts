import { expect, it } from 'vitest'
import { backendSettingsSchema } from '../../settings/backend-settings.ts'

const location = 's3://bucket/prefix'
const store = { folder: 'store' }

it.each([
  ['a prefix', { s3: { location } }],
  ['a longer one', { s3: { location: 's3://my.bucket-1/a/b_c/v1.2' } }],
  ['a store of ones own', { s3: { location, endpoint: 'http://127.0.0.1:9000', region: 'eu-1' } }],
  ['a bucket in the host', { s3: { location, virtualHostedStyle: true } }],
])('an object store can be named by %s', (_what, data) => {
  expect(backendSettingsSchema.parse({ data, store }).data).toMatchObject(data)
})

it.each([
  ['neither', {}],
  ['both', { folder: 'data', s3: { location } }],
  ['no bucket', { s3: { location: 's3:///prefix' } }],
  ['no prefix', { s3: { location: 's3://bucket' } }],
  ['an empty prefix', { s3: { location: 's3://bucket/' } }],
  ['a slash at the end', { s3: { location: 's3://bucket/prefix/' } }],
  ['a dot segment', { s3: { location: 's3://bucket/a/../b' } }],
  ['an encoded name', { s3: { location: 's3://bucket/a%2Fb' } }],
  ['a user in the location', { s3: { location: 's3://key:secret@bucket/prefix' } }],
  ['another scheme', { s3: { location: 'gs://bucket/prefix' } }],
  ['an endpoint with a password', { s3: { location, endpoint: 'https://key:secret@host' } }],
  ['an endpoint with a path', { s3: { location, endpoint: 'https://host/bucket' } }],
  ['credentials in the file', { s3: { location, accessKeyId: 'key' } }],
])('%s is refused', (_what, data) => {
  const result = backendSettingsSchema.safeParse({ data, store })
  expect(result.error?.issues.map(({ path }) => path[0])).toContain('data')
})

const role = 'arn:aws:iam::123456789012:role/tables'

it.each([
  ['nothing', {}, { mode: 'none' }],
  ['the location', { mode: 'location' }, { mode: 'location' }],
  [
    'credentials to read',
    { mode: 'temporary', roleArn: role },
    { mode: 'temporary', roleArn: role, access: 'read', durationSeconds: 3600 },
  ],
  [
    'credentials of another token service',
    { mode: 'temporary', roleArn: 'arn:aws:iam:::role/a/b', access: 'write', stsEndpoint: 'https://sts' },
    { roleArn: 'arn:aws:iam:::role/a/b', access: 'write', stsEndpoint: 'https://sts' },
  ],
])('vends %s to clients', (_what, vending, expected) => {
  const { data } = backendSettingsSchema.parse({ data: { s3: { location, vending } }, store })
  expect(data?.s3?.vending).toMatchObject(expected)
})

it.each([
  ['no role', { mode: 'temporary' }],
  ['a role without a use', { mode: 'location', roleArn: role }],
  ['an invalid role', { mode: 'temporary', roleArn: 'arn:aws:iam::1:user/me' }],
  ['too short a time', { mode: 'temporary', roleArn: role, durationSeconds: 60 }],
  ['too long a time', { mode: 'temporary', roleArn: role, durationSeconds: 86_400 }],
  ['other rights', { mode: 'temporary', roleArn: role, access: 'admin' }],
  ['a service with a password', { mode: 'temporary', role, stsEndpoint: 'https://a:b@sts' }],
  ['keys', { mode: 'temporary', role, secretAccessKey: 'secret' }],
])('rejects vending with %s', (_what, vending) => {
  const result = backendSettingsSchema.safeParse({ data: { s3: { location, vending } }, store })
  expect(result.error?.issues.map(({ path }) => path.slice(0, 3))).toContainEqual(['data', 's3', 'vending'])
})

it('requires a separate catalog store with an object store', () => {
  const data = { s3: { location } }
  const postgres = { url: 'postgresql://host/database' }
  expect(() => backendSettingsSchema.parse({ data })).toThrow(/expected either postgres, or a folder/)
  expect(() => backendSettingsSchema.parse({ data, store: { ...store, postgres } })).toThrow(/at most one/)
  expect(backendSettingsSchema.parse({ data, store: { postgres } }).store.postgres).toMatchObject(postgres)
})
