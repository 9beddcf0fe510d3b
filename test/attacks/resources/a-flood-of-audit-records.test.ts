import { expect, it } from 'vitest'
import { recordsOf } from '../../audit/audit-fixtures.ts'
import { startGatewayWithRoute } from '../../gateway/support/pass-through-gateway.ts'

// Requests without a credential filled the audit log, which all callers share, with 2.4 MB/s.
const attempts = 300
/** Counts as six: 200 may come at once, and 20 in a second. */
const target = `/ui/${'x'.repeat(6000)}`
const methods = ['POST']

async function startFlooded(route: object) {
  const { gateway, port, application } = await startGatewayWithRoute({ users: ['mallory'], route })
  async function flood(as: string | null) {
    const responses = await Promise.all(
      Array.from({ length: attempts }, () => port.post(target, { as, body: '' })),
    )
    const refused = responses.filter(({ status }) => status === 429)
    const forwarded = responses.filter(({ status }) => status === 200)
    expect(forwarded.length + refused.length).toBe(attempts)
    return { refused, forwarded }
  }
  async function countRecords(): Promise<number> {
    const records = await recordsOf(gateway.auditFolder)
    return records.filter(({ kind }) => kind === 'passThrough').length
  }
  return { port, application, flood, countRecords }
}

it('what is not recorded is not forwarded, and the other way round', async () => {
  const { application, flood, countRecords } = await startFlooded({ methods, allow: 'anyone' })
  const { refused, forwarded } = await flood(null)
  expect(refused.length).toBeGreaterThan(0)
  expect(forwarded.length).toBeGreaterThan(0)
  expect(refused[0]?.headers['retry-after']).toMatch(/^\d+$/)
  expect(application.requests).toHaveLength(forwarded.length)
  expect(await countRecords()).toBe(forwarded.length)
})

it('a flood of one caller does not hide what others do', async () => {
  const { port, flood, countRecords } = await startFlooded({ methods, allow: { any: true } })
  const { forwarded, refused } = await flood('mallory')
  expect(refused.length).toBeGreaterThan(attempts / 2)
  expect(await port.post('/ui/token', { body: '' })).toMatchObject({ status: 200 })
  expect(await countRecords()).toBe(forwarded.length + 1)
})
