import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { maxDecisionAgeMs } from '../../../src/gateway/bounds.ts'
import { expectError } from '../../gateway/support/expect-error.ts'
import { allowEverything } from '../../gateway/support/open-gateway.ts'
import { openRawConnection } from '../../gateway/support/raw-connection.ts'
import { keyedRequest } from '../../gateway/support/raw-request.ts'
import { respondWith } from '../../gateway/support/recording-upstream.ts'
import { startGatewayAndUpstream } from '../../gateway/support/running-gateway.ts'
import { formatPolicies, type WrittenPolicy } from '../../policy/policy-builder.ts'
import { arrowBytes } from '../../support/arrow-upload.ts'
import { clockAhead } from '../../support/clock-ahead.ts'
import { eventually } from '../../support/eventually.ts'
import { policyOf, ruleFor } from '../support/policy-templates.ts'

// A change that starts before a freeze and sends the end of its body after it must not be executed. The end of an allow is one
// of the facts in gateway/authorization/facts-that-change-during-a-body.test.ts.
const json = { 'content-type': 'application/json' }
const arrow = { 'content-type': 'application/vnd.apache.arrow.stream' }

const frozenFrom = (from: Date): readonly WrittenPolicy[] => [
  allowEverything,
  policyOf(
    ['lake'],
    [
      ruleFor([], ['change', 'credentials'], {
        effect: 'deny',
        subjects: { everyone: true },
        when: `now >= timestamp("${from.toISOString()}") && now < timestamp("2999-01-01T00:00:00Z")`,
        message: 'changes are frozen',
      }),
    ],
  ),
]

/** Less than the age at which a lock of the audit log is stale. */
const freezeInMs = 30_000
const startSoonFrozen = () =>
  startGatewayAndUpstream({ policies: frozenFrom(new Date(Date.now() + freezeInMs)) })

it.each([
  ['insert', arrow, arrowBytes(70_000), 'y'],
  ['version/create', json, '{"version":2,"manifest_path":"t/_versions/s"', '}'],
] as const)(
  '%s whose body ends during a freeze never completes at the upstream',
  async (operation, headers, start, end) => {
    const setClockAhead = clockAhead()
    const { gateway, upstream } = await startSoonFrozen()
    const client = openRawConnection(gateway.url)
    const lines = [
      `content-type: ${headers['content-type']}`,
      `content-length: ${Buffer.byteLength(start) + Buffer.byteLength(end)}`,
      'expect: 100-continue',
    ]
    client.write(keyedRequest(gateway, 'dev', `POST /v1/table/lake$orders/${operation}`, lines))
    // The head is decided.
    await client.waitFor(/^HTTP\/1.1 100/)
    client.write(start)
    // An upload is sent as it arrives.
    if (operation === 'insert') await eventually(() => expect(upstream.requests).toHaveLength(1))
    setClockAhead(freezeInMs)
    await pause(maxDecisionAgeMs)
    client.write(end)
    const refused = /\r\n\r\nHTTP\/1.1 403 [^]*not allowed \w+ on \\"lake\$orders\\"/
    expect(await client.waitFor(/\r\n\r\nHTTP\/1.1 \d{3}[^]*\}/)).toMatch(refused)
    for (const { body } of upstream.requests) await expect(body).rejects.toThrow('aborted')
  },
)

it('no storage credentials are vended in a freeze, because they allow changes past the gateway', async () => {
  const { gateway, upstream } = await startSoonFrozen()
  upstream.handler = respondWith(200, {
    location: 's3://b/t',
    storage_options: { aws_secret_access_key: 's' },
  })
  const describe = (body: object) => gateway.post('/v1/table/lake$orders/describe', { body })
  expect(await describe({ vend_credentials: true })).toMatchObject({
    status: 200,
    json: { storage_options: { aws_secret_access_key: 's' } },
  })
  await gateway.replacePolicies(formatPolicies(frozenFrom(new Date())))
  await eventually(async () => {
    expectError(await describe({ vend_credentials: true }), {
      kind: 'PermissionDenied',
      says: /VendCredentials \(vend_credentials\)/,
    })
  })
  expect((await describe({})).json).toEqual({ location: 's3://b/t' })
})
