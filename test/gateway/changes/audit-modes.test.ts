import { expect, it } from 'vitest'
import type { AuditModes } from '../../../src/config/audit/audit-modes.ts'
import { defaultModes } from '../../../src/config/audit/audit-modes.ts'
import { ofKind, recordsOf } from '../../audit/audit-fixtures.ts'
import { startGatewayAndUpstream } from '../support/running-gateway.ts'

/** The records after a commit, an insert, a change of a tag, a read and a denial. */
async function recordedWith(modes: Partial<AuditModes>): Promise<string[]> {
  const { gateway } = await startGatewayAndUpstream({
    users: ['stranger'],
    adjust: (settings) => ({
      ...settings,
      audit: { ...settings.audit, modes: { ...defaultModes, ...modes } },
    }),
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
  const records = await recordsOf(gateway.auditFolder)
  const intents = ofKind(records, 'intent')
  expect(ofKind(records, 'outcome').map(({ intentSeq }) => intentSeq)).toEqual(intents.map(({ seq }) => seq))
  return [
    ...intents.map(({ operation }) => operation),
    ...ofKind(records, 'refusal').map(({ reason }) => reason),
  ]
}

const changes = ['CreateTableVersion', 'UpdateTable', 'CreateTableTag']

it.each<[string, Partial<AuditModes>, string[]]>([
  ['changes and denials, but no reads by default', {}, [...changes, 'no_rule']],
  ['reads too', { read: 'strict' }, [...changes, 'DescribeTable', 'no_rule']],
  ['reads without waiting', { read: 'besteffort' }, [...changes, 'DescribeTable', 'no_rule']],
  ['commits without waiting for their outcome', { commit: 'durable' }, [...changes, 'no_rule']],
  ['changes without waiting at all', { commit: 'besteffort', data: 'besteffort' }, [...changes, 'no_rule']],
  ['no version commits', { commit: 'off' }, ['UpdateTable', 'CreateTableTag', 'no_rule']],
  ['no changes of rows', { data: 'off' }, ['CreateTableVersion', 'CreateTableTag', 'no_rule']],
  ['no other changes', { admin: 'off' }, ['CreateTableVersion', 'UpdateTable', 'no_rule']],
  ['no denials', { denial: 'off' }, changes],
])('the log holds %s', async (_, modes, recorded) => {
  expect(await recordedWith(modes)).toEqual(recorded)
})
