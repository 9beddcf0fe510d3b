import { expect, it } from 'vitest'
import { recordsOf } from '../../audit/audit-fixtures.ts'
import type { TestedGateway } from '../../gateway/support/open-gateway.ts'
import { startGatewayWithRoute } from '../../gateway/support/pass-through-gateway.ts'

// Requests without a credential filled the audit log, which all callers share, with 2.4 MB/s.
const attempts = 60
/** Ten seconds of one request per second. */
const burst = 10
const open = { allow: 'anyone', methods: ['POST'], maxChangesPerSecond: 1 }

async function flood(gateway: TestedGateway, target: string, as: string | null) {
  const responses = await Promise.all(
    Array.from({ length: attempts }, () => gateway.post(target, { as, body: '' })),
  )
  const refused = responses.filter(({ status }) => status === 429)
  const forwarded = responses.filter(({ status }) => status === 200)
  expect(forwarded.length + refused.length).toBe(attempts)
  return { refused, forwarded }
}

async function countRecords({ auditFolder }: TestedGateway): Promise<number> {
  const records = await recordsOf(auditFolder)
  return records.filter(({ kind }) => kind === 'passThrough').length
}

it('what is not recorded is not forwarded, and the other way round', async () => {
  const { gateway, application } = await startGatewayWithRoute({ route: open })
  const { refused, forwarded } = await flood(gateway, '/ui/token', null)
  expect(refused.length).toBeGreaterThan(0)
  expect(forwarded.length).toBeGreaterThanOrEqual(burst)
  expect(refused[0]?.headers['retry-after']).toMatch(/^\d+$/)
  expect(application.requests).toHaveLength(forwarded.length)
  expect(await countRecords(gateway)).toBe(forwarded.length)
})

it('a flood of one caller does not hide what others do', async () => {
  const { gateway } = await startGatewayWithRoute({
    users: ['mallory'],
    route: { ...open, allow: { any: true } },
  })
  const { forwarded, refused } = await flood(gateway, '/ui/token', 'mallory')
  expect(refused.length).toBeGreaterThan(0)
  expect(await gateway.post('/ui/token', { body: '' })).toMatchObject({ status: 200 })
  expect(await countRecords(gateway)).toBe(forwarded.length + 1)
})

it('long paths count more', async () => {
  const { gateway } = await startGatewayWithRoute({ route: open })
  const { forwarded } = await flood(gateway, `/ui/${'x'.repeat(6000)}`, null)
  expect(forwarded.length).toBeLessThan(burst)
})

it('requests that are not recorded are not limited', async () => {
  const { gateway } = await startGatewayWithRoute({
    route: open,
    adjust: (settings) => ({
      ...settings,
      audit: { ...settings.audit, modes: { ...settings.audit.modes, admin: 'off' } },
    }),
  })
  expect((await flood(gateway, '/ui/token', null)).forwarded).toHaveLength(attempts)
})
