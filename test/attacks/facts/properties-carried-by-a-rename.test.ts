import { it } from 'vitest'
import { attackedGateway } from '../support/attacked-gateway.ts'
import { createAllowPolicy, createDenyPolicy } from '../support/policy-templates.ts'

// A rename carried the properties or the location of a table to a namespace whose rules deny them.
const attacked = attackedGateway({
  users: ['ci'],
  policies: [
    createAllowPolicy('lake'),
    createDenyPolicy('labelled', ['CreateTable'], '"env" in properties && properties["env"] == "prod"'),
    createDenyPolicy('placed', ['CreateTable'], 'location.isUnder("s3://other")'),
    createAllowPolicy('only', 'properties["env"] == "dev"'),
    createAllowPolicy('plain', 'operation == "CreateTable"'),
  ],
})
const target = '/v1/table/lake$t/rename'
const body = (namespace: string): string => `{"new_table_name":"u","new_namespace_id":["${namespace}"]}`

it.each(['labelled', 'placed', 'only'])('denies a rename into %s', async (namespace) => {
  const says = new RegExp(`not allowed CreateTable \\(the destination\\) on "${namespace}\\$u"`)
  await attacked.expectDenied({ as: 'ci', target, body: body(namespace) }, says)
})

it('allows a rename into a namespace without rules on properties', async () => {
  await attacked.expectForwarded({ as: 'ci', target, body: body('plain') })
})
