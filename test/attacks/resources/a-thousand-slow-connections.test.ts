import { expect, it, onTestFinished } from 'vitest'
import { startRecordingUpstream } from '../../gateway/support/recording-upstream.ts'
import { startScript } from '../../e2e/built-program.ts'
import { describeTables } from './describe-tables.ts'

const slowConnections = 1_000
const requests = 200

// bench/slow-connections.ts measures the latency of other clients meanwhile.
it('a thousand connections that send a byte a second do not block others', { timeout: 120_000 }, async () => {
  const upstream = await startRecordingUpstream()
  onTestFinished(() => upstream.close())
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
  const { statuses } = await describeTables(url, key, requests)
  expect(statuses).toEqual(new Map([[200, requests]]))
  expect(slow.output()).toBe('started\n')
  slow.signal('SIGKILL')
  await slow.ended
  gateway.signal('SIGTERM')
  await gateway.ended
})
