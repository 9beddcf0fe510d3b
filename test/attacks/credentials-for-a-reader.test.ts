import { expect, it } from 'vitest'
import { respondWith } from '../gateway/support/recording-upstream.ts'
import { attackedGateway } from './attacked-gateway.ts'

// Describing a table is a read, but the storage credentials in its response allow writes.
const attacked = attackedGateway()
const vended = { aws_access_key_id: 'A', aws_secret_access_key: 'S', aws_session_token: 'T' }

it.each(['describe', 'declare', 'create-empty'])('%s with vend_credentials is denied', async (operation) => {
  await attacked.expectRefused(
    { target: `/v1/table/sandbox$orders/${operation}`, body: { vend_credentials: true } },
    {
      kind: 'PermissionDenied',
      says: /not allowed VendCredentials \(vend_credentials\) on "sandbox\$orders"/,
    },
  )
})

it.each([['true'], [1], [{}], [['true']]])('rejects vend_credentials %j', async (value) => {
  await attacked.expectRefused(
    { as: 'owner', body: { vend_credentials: value } },
    { kind: 'InvalidInput', says: 'expected true or false' },
  )
})

it.each([
  ['describe', {}],
  ['describe', { vend_credentials: false }],
  ['declare', {}],
  ['create', undefined],
])('removes credentials that the upstream vends unasked with %s %j', async (operation, body) => {
  attacked.upstream.answering = respondWith(
    200,
    '{"location":"s3://b/t", "version":7,"storage_options":' +
      `${JSON.stringify(vended)},"expires_at_millis":"1","properties":{"owner":"a"},` +
      `"table":{"storage_options":${JSON.stringify(vended)}}}`,
  )
  const response = await attacked.send({
    target: `/v1/table/sandbox$orders/${operation}`,
    ...(body ? { body } : { body: 'ARROW' }),
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
  attacked.upstream.answering = respondWith(200, body)
  const response = await attacked.send({})
  expect(response).toMatchObject({ status: 502, json: { code: 17 } })
  expect(String(response?.bytes)).not.toContain('aws')
})

it.each([
  ['{"version":9007199254740993, "storage_options":{},"a":1.50}', '{"version":9007199254740993,"a":1.50}'],
  ['{"storage_options":null}', '{}'],
  ['{"storage_options":{"a":"b"},"expires_at_millis":"1"}', '{}'],
  ['{"a":1,"storage_options":{"a":"b"},"expires_at_millis":"1"}', '{"a":1}'],
  ['{"expires_at_millis":"1","a":1,"storage_options":{}}', '{"a":1}'],
  ['{"storage_options":{"expires_at_millis":"1"},"a":"storage_options"}', '{"a":"storage_options"}'],
  [
    '{"results":[{"storage_options":{}},{"b":{"storage_options":{}},"c":2}]}',
    '{"results":[{},{"b":{},"c":2}]}',
  ],
  ['{"storage\\u005foptions":{"aws_secret_access_key":"S"}}', '{}'],
])('removing from %s leaves %s, character for character', async (whole, left) => {
  attacked.upstream.answering = respondWith(200, whole)
  const response = await attacked.send({})
  expect(response).toMatchObject({ status: 200, json: JSON.parse(left) })
  expect(String(response?.bytes).replaceAll(' ', '')).toBe(left)
})

it('forwards granted credentials unchanged', async () => {
  const whole = `{"storage_options":${JSON.stringify(vended)},  "expires_at_millis":"1"}`
  attacked.upstream.answering = respondWith(200, whole)
  const response = await attacked.send({ as: 'owner', body: { vend_credentials: true } })
  expect(String(response?.bytes)).toBe(whole)
})
