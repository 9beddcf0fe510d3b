import { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { maxDecisionAgeMs } from '../../../src/gateway/bounds.ts'
import { expectError } from '../../gateway/support/expect-error.ts'
import { allowEverything } from '../../gateway/support/open-gateway.ts'
import { respondWith } from '../../gateway/support/recording-upstream.ts'
import { startGatewayAndUpstream } from '../../gateway/support/running-gateway.ts'
import { formatPolicies, type WrittenPolicy } from '../../policy/policy-builder.ts'
import { arrowBytes } from '../../support/arrow-upload.ts'
import { eventually } from '../../support/eventually.ts'

// A change that starts before a freeze, or the end of an allow, and sends the end of its body after it must not be executed.
/** Longer than a gateway takes to start. */
const secondsUntilFreeze = 3
const arrow = { 'content-type': 'application/vnd.apache.arrow.stream' }
const json = { 'content-type': 'application/json' }

/** A freeze, and the end of an allow. */
const freezes = {
  freeze: (from: string) => ({
    rules: [
      {
        id: 'freeze',
        effect: 'deny' as const,
        subjects: { everyone: true as const },
        operations: ['change', 'credentials'],
        when: `now >= timestamp("${from}") && now < timestamp("2999-01-01T00:00:00Z")`,
        message: 'changes are frozen',
      },
    ],
  }),
  grant: (until: string) => ({
    inherit: false,
    rules: [
      {
        id: 'grant',
        effect: 'allow' as const,
        subjects: { users: ['dev'] },
        operations: ['all'],
        until,
      },
    ],
  }),
}

const frozenFrom = (form: keyof typeof freezes, from: Date): readonly WrittenPolicy[] => [
  allowEverything,
  { name: 'frozen', namespace: ['lake'], ...freezes[form](from.toISOString()) },
]

async function startSoonFrozen(form: keyof typeof freezes, seconds = secondsUntilFreeze) {
  const from = new Date(Date.now() + seconds * 1000)
  const pair = await startGatewayAndUpstream({ policies: frozenFrom(form, from) })
  return { ...pair, waitUntilFrozen: () => pause(from.getTime() - Date.now() + maxDecisionAgeMs) }
}

it.each([
  ['insert', 'freeze', arrow, [arrowBytes(70_000), 'y']],
  ['insert', 'grant', arrow, [arrowBytes(70_000), 'y']],
  ['update', 'freeze', json, ['{"updates":[["a","1"]]', '}']],
  ['update', 'grant', json, ['{"updates":[["a","1"]]', '}']],
  ['delete', 'freeze', json, [`{"predicate":"true${' '.repeat(1_400_000)}`, '"}']],
  ['version/create', 'freeze', json, ['{"version":2,"manifest_path":"t/_versions/s"', '}']],
] as const)(
  '%s whose body ends during a freeze (%s) never completes at the upstream',
  async (operation, form, headers, chunks) => {
    const { gateway, upstream, waitUntilFrozen } = await startSoonFrozen(form)
    async function* body(): AsyncGenerator<string | Buffer> {
      yield chunks[0]
      await waitUntilFrozen()
      yield chunks[1]
    }
    const response = await gateway.post(`/v1/table/lake$orders/${operation}`, {
      body: Readable.from(body()),
      headers,
    })
    expectError(response, { kind: 'PermissionDenied', says: /not allowed \w+ on "lake\$orders"/ })
    for (const { body: arrived } of upstream.requests) await expect(arrived).rejects.toThrow('aborted')
  },
)

it.each(['sized', 'chunked'] as const)(
  'an insert that ends before the freeze is executed, %s',
  async (framing) => {
    const { gateway, upstream } = await startSoonFrozen('freeze', 60)
    const bytes = arrowBytes(200_000)
    const body = framing === 'sized' ? bytes : Readable.from([bytes.subarray(0, 9), bytes.subarray(9)])
    expect(await gateway.post('/v1/table/lake$orders/insert', { body, headers: arrow })).toMatchObject({
      status: 200,
    })
    expect((await upstream.requests[0]?.body)?.equals(bytes)).toBe(true)
  },
)

it('no storage credentials are vended in a freeze, because they allow changes past the gateway', async () => {
  const { gateway, upstream } = await startSoonFrozen('freeze', 60)
  upstream.answering = respondWith(200, {
    location: 's3://b/t',
    storage_options: { aws_secret_access_key: 's' },
  })
  const describe = (body: object) => gateway.post('/v1/table/lake$orders/describe', { body })
  expect(await describe({ vend_credentials: true })).toMatchObject({
    status: 200,
    json: { storage_options: { aws_secret_access_key: 's' } },
  })
  await gateway.replacePolicies(formatPolicies(frozenFrom('freeze', new Date())))
  await eventually(async () => {
    expectError(await describe({ vend_credentials: true }), {
      kind: 'PermissionDenied',
      says: /VendCredentials \(vend_credentials\)/,
    })
  })
  expect((await describe({})).json).toEqual({ location: 's3://b/t' })
})
