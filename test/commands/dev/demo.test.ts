import { afterAll, expect, it } from 'vitest'
import { runProgram } from '../../e2e/built-program.ts'
import { startDev } from '../../e2e/running-dev.ts'

const dev = await startDev()
afterAll(() => dev.remove())

it('the tour has six steps and can be repeated', async () => {
  const location = ['--url', dev.url, '--data-dir', dev.dataFolder, '--api-key', dev.key]
  for (let round = 0; round < 2; round += 1) {
    const { status, output, messages } = await runProgram(['demo', ...location, '--rows', '5000'])
    expect({ status, messages }).toEqual({ status: 0, messages: '' })
    expect(output.match(/^\d+\. /gm)).toEqual(['1. ', '2. ', '3. ', '4. ', '5. ', '6. '])
    expect(output).toMatch(/5000 rows in \S+ s/)
    expect(output).toMatch(/rows with sensor = 7: 50$/m)
    expect(output).toMatch(/^ {5}id 4242, sensor 42, distance 0\.0000$/m)
    expect(output).toMatch(/drop: {7}403 \{.*"code":15/)
    expect(output).toMatch(/intent {3}CreateTableVersion by dev/)
    expect(output).toMatch(/committed, version 2$/m)
    expect(output).toMatch(/^Done\./m)
  }
}, 60_000)
