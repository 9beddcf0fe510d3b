import { it } from 'vitest'
import { attackedGateway } from '../support/attacked-gateway.ts'
import { createAllowPolicy } from '../support/policy-templates.ts'
import { arrowUpload } from '../../support/arrow-upload.ts'

// The headers of CreateTable stated properties and a location for operations whose upstream never reads them.
const attacked = attackedGateway({
  users: ['ci'],
  policies: [
    createAllowPolicy('labelled', 'properties["env"] == "dev"'),
    createAllowPolicy('placed', 'location.isUnder("lake") || operation == "ChooseLocation"'),
  ],
})
const properties = 'x-catalog-table-properties: {"env":"dev"}'
const location = 'x-catalog-table-location: lake/t'

it.each([
  ['/v1/namespace/labelled$n/create', '{}', properties, 'the member "properties" of the body'],
  ['/v1/table/labelled$t/declare', '{}', properties, 'the member "properties" of the body'],
  ['/v1/table/labelled$t/delete', '{"predicate":"true"}', properties, undefined],
  ['/v1/table/placed$t/declare', '{}', location, 'the member "location" of the body'],
  ['/v1/table/placed$t/register', '{}', location, 'the member "location" of the body'],
  ['/v1/table/placed$t/drop', '{}', location, undefined],
])('%s with %s and %s is rejected', async (target, body, line, belongs) => {
  const says = belongs === undefined ? /does not accept header ".*"; omit it/ : `send it as ${belongs}`
  await attacked.expectRefused({ as: 'ci', target, body, lines: [line] }, { kind: 'InvalidInput', says })
})

it('accepts the headers on operations that read them', async () => {
  const body = arrowUpload
  const lines = ['content-type: application/vnd.apache.arrow.stream']
  await attacked.expectForwarded({
    as: 'ci',
    target: '/v1/table/labelled$t/create',
    body,
    lines: [...lines, properties],
  })
  await attacked.expectForwarded({
    as: 'ci',
    target: '/v1/table/placed$t/create',
    body,
    lines: [...lines, location],
  })
})
