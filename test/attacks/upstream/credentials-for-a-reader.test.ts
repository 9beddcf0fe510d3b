import { expect, it } from 'vitest'
import { respondWith } from '../../gateway/support/recording-upstream.ts'
import { attackedGateway } from '../support/attacked-gateway.ts'
import { arrowUpload } from '../../support/arrow-upload.ts'

// Describing a table is a read, but the storage credentials in its response allow writes.
const attacked = attackedGateway()
const vended = { aws_access_key_id: 'A', aws_secret_access_key: 'S', aws_session_token: 'T' }

it.each(['describe', 'declare', 'create-empty'])('%s with vend_credentials is denied', async (operation) => {
  await attacked.expectDenied(
    { target: `/v1/table/sandbox$orders/${operation}`, body: { vend_credentials: true } },
    /not allowed VendCredentials \(vend_credentials\) on "sandbox\$orders"/,
  )
})

it.each([['true'], [1], [{}], [['true']]])('rejects vend_credentials %j', async (value) => {
  await attacked.expectInvalid({ as: 'owner', body: { vend_credentials: value } }, 'expected true or false')
})

it.each([
  ['describe', {}],
  ['describe', { vend_credentials: false }],
  ['declare', {}],
  ['create', undefined],
])('removes credentials that the upstream vends unasked with %s %j', async (operation, body) => {
  attacked.upstream.handler = respondWith(
    200,
    '{"location":"s3://b/t", "version":7,"storage_options":' +
      `${JSON.stringify(vended)},"expires_at_millis":"1","properties":{"owner":"a"},` +
      `"table":{"storage_options":${JSON.stringify(vended)}}}`,
  )
  const response = await attacked.send({
    target: `/v1/table/sandbox$orders/${operation}`,
    ...(body ? { body } : { body: arrowUpload }),
  })
  expect(response).toMatchObject({
    status: 200,
    json: { location: 's3://b/t', properties: { owner: 'a' }, table: {} },
  })
  expect(String(response?.bytes)).not.toMatch(/aws_|storage_options|expires_at/)
})

it.each([
  ['is not JSON', 'storage_options=aws_secret_access_key'],
  ['breaks off', '{"storage_options":{"aws_secret_access_key":"S"'],
  ['is compressed', Buffer.from([0x1f, 0x8b, 0x08])],
])('does not forward a response that %s, because its content is unknown', async (_label, body) => {
  attacked.upstream.handler = respondWith(200, body)
  const response = await attacked.send({})
  expect(response).toMatchObject({ status: 502, json: { code: 17 } })
  expect(String(response?.bytes)).not.toContain('aws')
})

it.each([
  ['{"storage_options":{"expires_at_millis":"1"},"a":"storage_options"}', '{"a":"storage_options"}'],
  [
    '{"results":[{"storage_options":{}},{"b":{"storage_options":{}},"c":2}]}',
    '{"results":[{},{"b":{},"c":2}]}',
  ],
  ['{"storage\\u005foptions":{"aws_secret_access_key":"S"}}', '{}'],
])('removing from %s leaves %s, character for character', async (whole, left) => {
  attacked.upstream.handler = respondWith(200, whole)
  const response = await attacked.send({})
  expect(response).toMatchObject({ status: 200, json: JSON.parse(left) })
  expect(String(response?.bytes).replaceAll(' ', '')).toBe(left)
})

const endpointOptions = {
  aws_region: 'eu-central-1',
  aws_endpoint: 'https://s3.example:9000/prefix',
  aws_virtual_hosted_style_request: 'false',
  allow_http: 'true',
}

it.each(['describe', 'declare'])('retains where the store is in the response to %s', async (operation) => {
  const options = { ...vended, ...endpointOptions, expires_at_millis: '1' }
  attacked.upstream.handler = respondWith(200, { location: 's3://b/t', storage_options: options })
  const response = await attacked.send({ target: `/v1/table/sandbox$orders/${operation}`, body: {} })
  expect(response?.json).toEqual({ location: 's3://b/t', storage_options: endpointOptions })
})

it.each([
  ['a key that is unknown', 'base_1.aws_region', 'eu'],
  ['a key in another case', 'AWS_REGION', 'eu'],
  ['a key of a prototype', '__proto__', 'eu'],
  ['a token', 'google_storage_token', 'ya29'],
  ['a user of an endpoint', 'aws_endpoint', 'https://key:secret@s3.example'],
  ['a user without a password', 'endpoint', 'https://secret@s3.example'],
  ['a query of an endpoint', 'azure_storage_endpoint', 'https://a.blob.core.windows.net/?sig=secret'],
  ['a fragment of an endpoint', 'endpoint_url', 'https://s3.example/#secret'],
  ['an endpoint after a line break', 'endpoint', 'secret\nhttps://s3.example'],
  ['an endpoint of another scheme', 'endpoint', 'file:///secret'],
  ['a region that is none', 'aws_region', 'AKIA/secret'],
  ['a boolean that is none', 'allow_http', 'secret'],
  ['an account that is none', 'azure_storage_account_name', 'AccountKey=secret'],
  ['an object', 'aws_region', { secret: 'eu' }],
  ['a list', 'aws_endpoint', ['https://s3.example']],
])('removes %s from the storage options', async (_what, name, value) => {
  const text = `{"aws_default_region":"auto",${JSON.stringify(name)}:${JSON.stringify(value)}}`
  attacked.upstream.handler = respondWith(200, `{"storage_options":${text}}`)
  const response = await attacked.send({})
  expect(String(response?.bytes)).toBe('{"storage_options":{"aws_default_region":"auto"}}')
})

it.each(['["https://key@s3.example"]', '"secret"', '1', '{"endpoint":{"storage_options":{"region":"eu"}}}'])(
  'removes storage options that are %s',
  async (options) => {
    attacked.upstream.handler = respondWith(200, `{"a":1,"storage_options":${options}}`)
    expect(String((await attacked.send({}))?.bytes)).toBe('{"a":1}')
  },
)

it('forwards of a repeated storage option only the one that was checked', async () => {
  const options = '{"endpoint":"https://key@a","endpoint":"https://b"}'
  attacked.upstream.handler = respondWith(200, `{"storage_options":${options},"storage_options":${options}}`)
  const response = await attacked.send({})
  const checked = '"storage_options":{"endpoint":"https://b"}'
  expect(String(response?.bytes)).toBe(`{${checked},${checked}}`)
})

it('forwards granted credentials unchanged', async () => {
  const whole = `{"storage_options":${JSON.stringify(vended)},  "expires_at_millis":"1"}`
  attacked.upstream.handler = respondWith(200, whole)
  const response = await attacked.send({ as: 'owner', body: { vend_credentials: true } })
  expect(String(response?.bytes)).toBe(whole)
})
