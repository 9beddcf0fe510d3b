import { expect, it } from 'vitest'
import { startDev } from '../../e2e/running-dev.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

it('dev shows each request in a line for people', async () => {
  const dev = await startDev({ dataFolder: await temporaryFolder() })
  await dev.send('POST', '/v1/namespace/sales/create', {})
  const analyst = await dev.createKey('ann', '--group', 'analysts')
  await dev.send('POST', '/v1/table/sales$orders/describe', {}, { 'x-api-key': analyst })
  const { messages } = await dev.stop()
  const lines = messages.split('\n').map((line) => line.replace(/^\d\d:\d\d:\d\d /, ''))
  expect(lines).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^200 CreateNamespace sales by dev in \d+\.\d ms$/),
      expect.stringMatching(/^404 DescribeTable sales\/orders by ann in \d+\.\d ms: \S/),
    ]),
  )
})
