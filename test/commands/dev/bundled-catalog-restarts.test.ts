import { expect, it } from 'vitest'
import { childrenOf } from '../../e2e/process-tree.ts'
import { startDev, type RunningDev } from '../../e2e/running-dev.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { eventually } from '../../support/eventually.ts'

async function expectRestart(dev: RunningDev, catalog: number | undefined): Promise<void> {
  await expect
    .poll(async () => (await dev.send('GET', '/v1/namespace/$/list')).status, { timeout: 50_000 })
    .toBe(200)
  expect(await childrenOf(dev.program.pid)).not.toContain(catalog)
  expect(await (await dev.send('GET', '/v1/namespace/$/list')).json()).toEqual({ namespaces: ['sales'] })
}

const restarts = 2

it('a killed catalog is restarted, and dev reports it', async () => {
  const dev = await startDev({ dataFolder: await temporaryFolder() })
  await dev.send('POST', '/v1/namespace/sales/create', {})
  for (let time = 0; time < restarts; time += 1) {
    const [catalog] = await childrenOf(dev.program.pid)
    process.kill(Number(catalog), 'SIGKILL')
    await eventually(async () => expect(await childrenOf(dev.program.pid)).not.toContain(catalog))
    await expectRestart(dev, catalog)
  }
  dev.program.signal('SIGTERM')
  const { status, messages } = await dev.program.ended
  const lines = messages
    .replaceAll(/restarting in [\d.]+ s/g, 'restarting')
    .split('\n')
    .filter((line) => line.startsWith('the catalog process'))
  expect({ status, lines }).toEqual({
    status: 0,
    lines: Array.from({ length: restarts }, () => [
      'the catalog process exited (SIGKILL); restarting',
      'the catalog process restarted',
    ]).flat(),
  })
})

it('a catalog that hangs is killed and started again, and /readyz reports it meanwhile', async () => {
  const dev = await startDev({ dataFolder: await temporaryFolder() })
  await dev.send('POST', '/v1/namespace/sales/create', {})
  const [catalog] = await childrenOf(dev.program.pid)
  process.kill(Number(catalog), 'SIGSTOP')
  await expect
    .poll(async () => (await fetch(`${dev.adminUrl}/readyz`)).text(), { timeout: 50_000 })
    .toContain('unhealthy')
  await expect.poll(() => childrenOf(dev.program.pid), { timeout: 50_000 }).not.toContain(catalog)
  await expectRestart(dev, catalog)
  await expect
    .poll(async () => (await fetch(`${dev.adminUrl}/readyz`)).text(), { timeout: 50_000 })
    .not.toContain('unhealthy')
  dev.program.signal('SIGTERM')
  expect((await dev.program.ended).messages).toContain('the catalog process is unresponsive')
}, 180_000)
