import { expect, it, onTestFinished } from 'vitest'
import { orders, streamOf } from '../../src/backend/test/engine/sample-tables.ts'
import { ofKind, recordsOf } from '../audit/audit-fixtures.ts'
import { runCommand } from '../support/run-command.ts'
import { eventually } from '../support/eventually.ts'
import { killableGateway } from './killable-gateway.ts'

const rows = streamOf(orders(3))
const arrow = { 'content-type': 'application/vnd.apache.arrow.stream' }
const kills = 3

it('a commit past the gateway is recorded once, and none through it, however often it is killed', async () => {
  const gateway = await killableGateway(0.5, 1)
  onTestFinished(() => gateway.kill(true))
  const send = (change: string) => gateway.send(`/v1/table/orders/${change}`, rows, arrow)
  const comparisons = async () => ofKind(await recordsOf(gateway.auditFolder), 'comparison')
  const reads = () => gateway.metric('catalog_gateway_upstream_compared_tables{upstream="catalog"}')
  let inserted = 0
  /** Commits until the gateway is killed, in the middle of a request. */
  const insertUntilKilled = async (): Promise<void> => {
    while ((await send('insert').catch(() => undefined))?.status === 200) inserted += 1
  }

  await gateway.start()
  expect((await send('create')).status).toBe(200)
  for (let kill = 1; kill <= kills; kill += 1) {
    const before = inserted
    const inserting = [insertUntilKilled(), insertUntilKilled()]
    await eventually(async () => {
      expect(inserted).toBeGreaterThan(before)
      expect(await reads()).toBe(1)
    })
    await gateway.kill(false)
    await Promise.all(inserting)
    await gateway.start()
  }
  await eventually(async () => expect(await gateway.metric('catalog_gateway_audit_in_doubt_changes')).toBe(0))
  // The newest version is known for sure, also if an outcome is not.
  expect((await send('insert')).status).toBe(200)
  await eventually(async () => expect(await reads()).toBe(1))
  expect(await comparisons()).toEqual([])

  const insertPast = async () =>
    expect((await gateway.sendPast('/v1/table/orders/insert', rows, arrow)).status).toBe(200)
  await insertPast()
  await eventually(async () => expect(await comparisons()).toHaveLength(1))
  await gateway.kill(false)
  await insertPast()
  await insertPast()
  await gateway.start()
  await eventually(async () => expect(await comparisons()).toHaveLength(2))
  const [first, second] = await comparisons()
  const version = first?.version ?? 0
  expect([first, second]).toMatchObject([
    { id: ['orders'], before: version - 1, outOfBand: [{ from: version, to: version }] },
    { before: version, version: version + 2, outOfBand: [{ from: version + 1, to: version + 2 }] },
  ])
  const { status, output } = await runCommand(['audit', 'verify', gateway.auditFolder])
  expect({ status, output }).toMatchObject({ status: 0 })
}, 90_000)
