import { expect, it, onTestFinished } from 'vitest'
import { Client } from 'undici'
import { startScript } from '../e2e/built-program.ts'
import { startRecordingUpstream } from '../gateway/recording-upstream.ts'

const slowConnections = 1_000
const requests = 500
/** Below this many milliseconds a difference is that of the machine, which runs other tests too. */
const floorMs = 40
/** On a busy machine a measurement may fail for reasons of its own; a gateway that is slowed down fails every time. */
const attempts = 3

it('a thousand connections that send a byte a second do not slow others down', async () => {
  const upstream = await startRecordingUpstream()
  onTestFinished(() => upstream.close())
  const gateway = startScript(new URL('../gateway/gateway-process.ts', import.meta.url), [upstream.url])
  const { url, key } = JSON.parse(await gateway.announced(/^(\{.*\})$/m)) as { url: string; key: string }
  const client = new Client(url)
  onTestFinished(() => client.close())
  const send = async (): Promise<void> => {
    const { statusCode, body } = await client.request({
      method: 'POST',
      path: '/v1/table/o/describe',
      headers: { 'x-api-key': key },
      body: '{}',
    })
    await body.dump()
    expect(statusCode).toBe(200)
  }
  await p99(send)
  const ratios: number[] = []
  while (ratios.length < attempts && !ratios.some((ratio) => ratio <= 2)) {
    const before = await p99(send)
    const slow = startScript(new URL('./slow-clients-process.ts', import.meta.url), [
      url,
      key,
      String(slowConnections),
    ])
    await slow.announced(/^(all have begun)$/m)
    const meanwhile = await p99(send)
    slow.signal('SIGKILL')
    await slow.ended
    ratios.push(Math.max(floorMs, meanwhile) / Math.max(floorMs, before))
  }
  expect(Math.min(...ratios)).toBeLessThanOrEqual(2)
})

/** Milliseconds that all but one of a hundred requests take at the most, one after the other. */
async function p99(send: () => Promise<void>): Promise<number> {
  const times: number[] = []
  for (let count = 0; count < requests; count += 1) {
    const start = performance.now()
    await send()
    times.push(performance.now() - start)
  }
  return times.toSorted((one, other) => one - other)[Math.floor(requests * 0.99)] ?? Infinity
}
