import { it } from 'vitest'
import { arrowUpload } from '../../support/arrow-upload.ts'
import { attackedGateway } from '../support/attacked-gateway.ts'

// A caller that chooses the location of a table can turn any files into a table.
const attacked = attackedGateway()
const location = 's3://bucket/production/orders.lance'
const denied = {
  kind: 'PermissionDenied',
  says: /not allowed ChooseLocation \(.+\) on "sandbox\$orders"/,
} as const

it.each([
  ['register', { location }],
  ['declare', { location }],
  ['create-empty', { location }],
])('%s with a location requires ChooseLocation', async (operation, body) => {
  await attacked.expectRefused({ target: `/v1/table/sandbox$orders/${operation}`, body }, denied)
})

it('a location header requires it, too, and storage options that redirect it ChooseStorage', async () => {
  const target = '/v1/table/sandbox$orders/create'
  const body = arrowUpload
  await attacked.expectRefused({ target, body, lines: [`x-catalog-table-location: ${location}`] }, denied)
  for (const options of [{}, { aws_endpoint: 'https://elsewhere.example' }, { bucket: 'other' }])
    await attacked.expectRefused(
      { target: `${target}?storage_options=${encodeURIComponent(JSON.stringify(options))}`, body },
      { ...denied, says: /not allowed ChooseStorage \(storage_options\)/ },
    )
})

it.each([
  ['another spelling', { Location: location }, /is ambiguous; write "location"/],
  [
    'an unknown mode',
    { location, mode: 'replace' },
    /"replace" is not a mode of \w+; expected one of create, overwrite/,
  ],
])('%s is rejected', async (_label, body, says) => {
  await attacked.expectInvalid({ as: 'owner', target: '/v1/table/sandbox$orders/register', body }, says)
})

it('allows declaring a table at the location of the catalog', async () => {
  await attacked.expectForwarded({ target: '/v1/table/sandbox$orders/declare', body: {} })
  await attacked.expectForwarded({ target: '/v1/table/sandbox$orders/declare', body: { location: null } })
  await attacked.expectForwarded({
    as: 'owner',
    target: '/v1/table/sandbox$orders/register',
    body: { location },
  })
})

it.each<[operation: string, body: object | Buffer, lines?: string[]]>([
  ['register', { location: '' }],
  ['declare', { location: '' }],
  ['declare', { properties: { location: '' } }],
  ['create', arrowUpload, ['X-Catalog-Table-Location: ']],
  ['create', arrowUpload, ['x-catalog-table-properties: {"location":""}']],
])('an empty location to %s is refused: %j %j', async (operation, body, lines = []) => {
  await attacked.expectInvalid(
    { as: 'dev', target: `/v1/table/prod$t/${operation}`, body, lines },
    'location',
  )
})
