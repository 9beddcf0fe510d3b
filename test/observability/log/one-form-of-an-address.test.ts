import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ofKind, recordsOf } from '../../audit/audit-fixtures.ts'
import { allowEverything } from '../../gateway/support/open-gateway.ts'
import { formatPolicies } from '../../policy/policy-builder.ts'
import { linesOf, servingGateway } from '../serving-gateway.ts'

const hasIpv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ family }) => family === 'IPv6'))

// A dual-stack socket names clients of IPv4 by IPv4-mapped addresses, such as ::ffff:127.0.0.1.
it.skipIf(!hasIpv6)('listening on ::, log, audit log and policies have one form of an address', async () => {
  const rules = allowEverything.rules.map((rule) => ({ ...rule, when: 'client.address == "127.0.0.1"' }))
  const gateway = await servingGateway(
    { listen: { host: '::', port: 0 } },
    { 'policies/policies.yaml': formatPolicies([{ ...allowEverything, rules }]) },
  )
  const origin = `http://127.0.0.1:${new URL(gateway.url).port}`
  const headers = { 'x-api-key': gateway.key('dev') }
  const dropped = await fetch(`${origin}/v1/table/a/drop`, { method: 'POST', headers })
  expect(dropped.status).toBe(200)
  expect((await fetch(`${origin}/v1/table/c/drop`, { method: 'POST' })).status).toBe(401)
  await fetch(origin, { method: 'SEARCH', headers: { host: '' } }).catch(() => undefined)

  const log = await gateway.stop()
  expect(log).not.toContain('::ffff')
  const lines = linesOf(log).filter(({ msg }) => msg === 'request completed')
  expect(new Set(lines.map(({ client }) => client))).toEqual(new Set(['127.0.0.1']))
  const records = await recordsOf(join(gateway.folder, 'audit'))
  const clients = [...ofKind(records, 'intent'), ...ofKind(records, 'refusal')].map(({ client }) => client)
  expect(clients).toEqual(['127.0.0.1', '127.0.0.1'])
})
