import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { maxDecisionAgeMs } from '../../../src/gateway/bounds.ts'
import { reloadFiles } from '../../../src/lib/fs/follow-files.ts'
import { serveListings } from '../../gateway/support/listing-upstream.ts'
import type { TestedGateway } from '../../gateway/support/open-gateway.ts'
import { startGatewayAndUpstream } from '../../gateway/support/running-gateway.ts'
import { createDeferred } from '../../gateway/support/waiting.ts'
import { formatPolicies } from '../../policy/policy-builder.ts'
import { eventually } from '../../support/eventually.ts'
import { policyOf, ruleFor } from '../support/policy-templates.ts'

// A listing may read dozens of pages of a catalog, and waits for each: the decision on its head held for all of them.
const tables = Array.from({ length: 5_000 }, (_, index) => `t${index}`)

interface Opened {
  readonly gateway: TestedGateway
  readonly folder: string
}

const losses: Readonly<Record<string, (opened: Opened) => Promise<unknown>>> = {
  'a revoked key': ({ folder }) => writeFile(join(folder, 'keys.yaml'), 'keys: []\n'),
  'a removed rule': ({ gateway }) => gateway.replacePolicies(formatPolicies([policyOf([], [])])),
  'a hidden table': ({ gateway }) =>
    gateway.replacePolicies(
      formatPolicies([
        policyOf(
          [],
          [ruleFor(['mallory']), ruleFor(['mallory'], ['all'], { effect: 'deny', tables: ['t4999'] })],
        ),
      ]),
    ),
}

it.each([
  ['a revoked key', '/v1/namespace/sales/table/list', 401],
  ['a revoked key', '/v1/table', 401],
  ['a removed rule', '/v1/namespace/sales/table/list', 403],
  ['a hidden table', '/v1/namespace/sales/table/list', 503],
  ['a hidden table', '/v1/table', 503],
])('%s ends the listing %s before its next page', async (loss, target, status) => {
  let folder = ''
  const { gateway, upstream } = await startGatewayAndUpstream({
    users: ['mallory'],
    policies: [policyOf([], [ruleFor(['mallory'])])],
    adjust: (settings, created) => {
      folder = created
      return settings
    },
  })
  const released = createDeferred()
  const serve = serveListings({ tables: { sales: tables }, allTables: tables.map((name) => `sales$${name}`) })
  upstream.handler = async (...request) => {
    await released.promise
    serve(...request)
  }
  const listing = gateway.get(target, { as: 'mallory' })
  await eventually(() => expect(upstream.requests).toHaveLength(1))
  await losses[loss]?.({ gateway, folder })
  await reloadFiles()
  await pause(maxDecisionAgeMs)
  released.resolve(undefined)
  expect(await listing).toMatchObject({ status })
  expect(upstream.requests).toHaveLength(1)
})
