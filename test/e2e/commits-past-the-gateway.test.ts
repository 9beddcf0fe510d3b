import { expect, it, onTestFinished } from 'vitest'
import { orders, streamOf } from '../../src/backend/test/engine/sample-tables.ts'
import { runCommand } from '../support/run-command.ts'
import { eventually } from '../support/eventually.ts'
import { killableGateway } from './killable-gateway.ts'

const rows = streamOf(orders(3))
const arrow = { 'content-type': 'application/vnd.apache.arrow.stream' }
const kills = 3

it('audit compare names each version made past the gateway, and none made through it, however often it is killed', async () => {
  const gateway = await killableGateway(1_500)
  onTestFinished(() => gateway.kill(true))
  const send = (change: string, table = 'orders') => gateway.send(`/v1/table/${table}/${change}`, rows, arrow)
  const compare = () => runCommand(['audit', 'compare', '--config', gateway.config, '--json'])
  let inserted = 0
  /** Commits until the gateway is killed, in the middle of a request. */
  const insertUntilKilled = async (): Promise<void> => {
    while ((await send('insert').catch(() => undefined))?.status === 200) inserted += 1
  }

  await gateway.start()
  expect((await send('create')).status).toBe(200)
  expect((await send('create', 'quiet')).status).toBe(200)
  for (let kill = 1; kill <= kills; kill += 1) {
    const before = inserted
    const inserting = [insertUntilKilled(), insertUntilKilled()]
    await eventually(() => expect(inserted).toBeGreaterThan(before))
    // Versions are made while the command runs.
    expect(await compare()).toMatchObject({ status: 0, output: '' })
    await gateway.kill(false)
    await Promise.all(inserting)
    await gateway.start()
  }
  await eventually(async () => expect(await gateway.metric('catalog_gateway_audit_in_doubt_changes')).toBe(0))
  expect(await compare()).toMatchObject({ status: 0, output: '' })

  // A change that is still in doubt could have made a version of the other table.
  const created = await gateway.sendPast('/v1/table/quiet/insert', rows, arrow)
  const { version } = (await created.json()) as { version: number }
  await gateway.kill(false)
  const { status, output, messages } = await compare()
  expect(status).toBe(1)
  expect(messages).toContain('1 version without a record that explains it')
  expect(JSON.parse(output)).toMatchObject({ upstream: 'catalog', id: ['quiet'], branch: 'main', version })
}, 90_000)
