import { expect, it } from 'vitest'
import { startUpstream } from '../../gateway/support/running-gateway.ts'
import { startScript } from '../../e2e/built-program.ts'

const slowConnections = 1_000

// bench/slow-connections.ts measures the latency of other clients meanwhile.
it('a thousand connections that send a byte a second do not block others', { timeout: 120_000 }, async () => {
  const upstream = await startUpstream()
  const gateway = startScript(new URL('../../gateway/support/gateway-process.ts', import.meta.url), [
    upstream.url,
  ])
  const { url, key } = JSON.parse(await gateway.announced(/^(\{.*\})$/m)) as { url: string; key: string }
  const slow = startScript(new URL('./slow-clients-process.ts', import.meta.url), [
    url,
    key,
    String(slowConnections),
  ])
  await slow.announced(/^(started)$/m)
  const describing = { method: 'POST', headers: { 'x-api-key': key } }
  for (let count = 0; count < 200; count += 1)
    expect((await fetch(`${url}/v1/table/o/describe`, describing)).status).toBe(200)
  expect(slow.output()).toBe('started\n')
  slow.signal('SIGKILL')
  await slow.ended
  gateway.signal('SIGTERM')
  await gateway.ended
})
