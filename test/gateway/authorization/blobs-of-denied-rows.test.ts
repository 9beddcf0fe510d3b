import { expect, it } from 'vitest'
import { policyOf, ruleFor } from '../../attacks/support/policy-templates.ts'
import { operationNames } from '../../../src/catalog-api/operations.ts'
import { expectError } from '../support/expect-error.ts'
import { startGatewayAndUpstream, useSharedGateway } from '../support/running-gateway.ts'

// Blobs are values of rows: reading them has operations of its own, and requires QueryTable.
const get = '/v1/table/lake$t/blob/image/7/bytes'
const fetch = '/v1/table/lake$t/fetch_blobs'
const blobReads = ['FetchTableBlobs', 'GetTableBlob'] as const
const rows = { column: 'image', row_ids: [7] }

const but = (...names: readonly string[]) => operationNames.filter((name) => !names.includes(name))

const shared = useSharedGateway({
  users: ['rows', 'no-rows'],
  policies: [
    // Everything else.
    policyOf(['lake'], [ruleFor(['rows'], but(...blobReads)), ruleFor(['no-rows'], but('QueryTable'))]),
  ],
})

const send = (as: string, name: (typeof blobReads)[number]) =>
  name === 'GetTableBlob' ? shared.gateway.get(get, { as }) : shared.gateway.post(fetch, { as, body: rows })

it.each(blobReads)('%s is denied to a caller that may do everything else', async (name) => {
  expectError(await send('rows', name), {
    kind: 'PermissionDenied',
    status: 403,
    says: `not allowed ${name} on "lake.t"`,
  })
  expect(shared.upstream.requests).toEqual([])
})

it.each(blobReads)('%s is denied to a caller that may do everything but query', async (name) => {
  expectError(await send('no-rows', name), {
    kind: 'PermissionDenied',
    status: 403,
    says: String.raw`not allowed QueryTable \(values of rows\) on "lake.t"`,
  })
  expect(shared.upstream.requests).toEqual([])
})

it('HEAD, which tells the size and the entity tag, is denied like GET', async () => {
  for (const as of ['rows', 'no-rows'])
    expect((await shared.gateway.send('HEAD', get, { as })).status).toBe(403)
  expect(shared.upstream.requests).toEqual([])
})

it('the audit of reads holds which values of which dataset', async () => {
  const { gateway } = await startGatewayAndUpstream({
    policies: [policyOf([], [ruleFor(['dev'], ['all', 'ReferenceData'])])],
    settings: { audit: { reads: true } },
  })
  const source = 's3://lake/base.lance'
  await gateway.get(`${get}?version=7&branch=ci&source_uri=${encodeURIComponent(source)}`)
  await gateway.send('HEAD', get)
  await gateway.post(fetch, { body: rows })
  await gateway.stop()
  expect(await gateway.recorded('intent')).toMatchObject([
    {
      operation: 'GetTableBlob',
      id: ['lake', 't'],
      objects: [
        { operation: 'QueryTable', id: ['lake', 't'] },
        { operation: 'ReferenceData', id: ['lake', 't'] },
        { operation: 'ReadAnyTable', id: [] },
      ],
      details: { column: 'image', row_id: '7', version: '7', branch: 'ci', source_uri: source },
    },
    { operation: 'GetTableBlob', details: { column: 'image', row_id: '7' } },
    { operation: 'FetchTableBlobs', details: { column: 'image', row_ids: [7] } },
  ])
  expect((await gateway.recorded('outcome')).map(({ result }) => result)).toEqual(Array(3).fill('committed'))
})
