import { it } from 'vitest'
import { attackedGateway } from '../support/attacked-gateway.ts'
import { createRequirePolicy } from '../support/policy-templates.ts'
import { arrowUpload } from '../../support/arrow-upload.ts'

// The location was in the allowed folder, but of an object store that the caller chose.
const attacked = attackedGateway({
  users: ['ci'],
  policies: [createRequirePolicy('lake', { folders: ['s3://lake/sales'] })],
})

function create(options?: object) {
  const query = options ? `?storage_options=${encodeURIComponent(JSON.stringify(options))}` : ''
  const lines = [
    'content-type: application/vnd.apache.arrow.stream',
    'x-catalog-table-location: s3://lake/sales/t',
  ]
  return { as: 'ci', target: `/v1/table/lake$t/create${query}`, body: arrowUpload, lines }
}

it.each([
  { aws_endpoint: 'https://elsewhere.example' },
  { bucket: 'other' },
  { azure_storage_account_name: 'other' },
  {},
])('denies storage options %j', async (options) => {
  const says = /not allowed ChooseStorage \(storage_options\)/
  await attacked.expectRefused(create(options), { kind: 'PermissionDenied', says })
})

it('allows the location alone', async () => {
  await attacked.expectForwarded(create())
})
