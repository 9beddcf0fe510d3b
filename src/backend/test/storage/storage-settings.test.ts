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

it('requires a separate catalog store with an object store', () => {
  const data = { s3: { location } }
  const postgres = { url: 'postgresql://host/database' }
  expect(() => backendSettingsSchema.parse({ data })).toThrow(/expected either postgres, or a folder/)
  expect(() => backendSettingsSchema.parse({ data, store: { ...store, postgres } })).toThrow(/at most one/)
  expect(backendSettingsSchema.parse({ data, store: { postgres } }).store.postgres).toMatchObject(postgres)
})
