import { expect, it } from 'vitest'
import type { AuditSettings } from '../../../src/config/audit-settings.ts'
import { startGatewayAndUpstream } from '../support/running-gateway.ts'

/** The records after a commit, an update, a change of a tag, a read and a denial. */
async function recordedWith(audit: Partial<AuditSettings>): Promise<string[]> {
  const { gateway } = await startGatewayAndUpstream({
    users: ['stranger'],
    settings: { audit },
  })
  const targets = ['version/create', 'update', 'tags/create', 'describe']
  const bodies = [
    { version: 2, manifest_path: 'orders/_versions/2.manifest' },
    { updates: [['a', '1']] },
    { tag: 'gold', version: 1 },
    {},
  ]
  for (const [index, target] of targets.entries()) {
    const { status } = await gateway.post(`/v1/table/orders/${target}`, { body: bodies[index] ?? {} })
    expect({ target, status }).toEqual({ target, status: 200 })
  }
  expect((await gateway.post('/v1/table/orders/describe', { as: 'stranger', body: {} })).status).toBe(403)
  await gateway.stop()
  const intents = await gateway.recorded('intent')
  expect((await gateway.recorded('outcome')).map(({ intentSeq }) => intentSeq)).toEqual(
    intents.map(({ seq }) => seq),
  )
  return [
    ...intents.map(({ operation }) => operation),
    ...(await gateway.recorded('refusal')).map(({ reason }) => reason),
  ]
}

const changes = ['CreateTableVersion', 'UpdateTable', 'CreateTableTag']

it.each<[string, Partial<AuditSettings>, string[]]>([
  ['changes and denials, but no reads by default', {}, [...changes, 'no_rule']],
  ['reads too', { reads: true }, [...changes, 'DescribeTable', 'no_rule']],
  ['changes without waiting', { mode: 'besteffort' }, [...changes, 'no_rule']],
  [
    'reads and changes without waiting',
    { mode: 'besteffort', reads: true },
    [...changes, 'DescribeTable', 'no_rule'],
  ],
])('the log holds %s', async (_, audit, recorded) => {
  expect(await recordedWith(audit)).toEqual(recorded)
})
