import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { Pool } from 'undici'
import { expect, it } from 'vitest'
import { auditedChanges } from './audited-changes.ts'
import { eventually } from '../support/eventually.ts'
import { runCommand } from '../support/run-command.ts'
import { startDev, withoutProblems } from './running-dev.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** Less than the gateway waits for the next request on a connection. */
const lateNs = 200_000_000

interface ClientLog {
  readonly acknowledged: string[]
  failure: unknown
}

it('drains accepted requests under load and keeps the audit log complete', async () => {
  const dev = await startDev({ dataFolder: await temporaryFolder() })
  const pool = new Pool(dev.url, { connections: 8 })
  const logs = Array.from({ length: 8 }, (): ClientLog => ({ acknowledged: [], failure: undefined }))
  const clients = logs.map((log, number) => runClient(pool, dev.key, number, log))
  await eventually(() => expect(logs.filter(({ acknowledged }) => acknowledged.length < 2)).toEqual([]))
  await pause(Math.random() * 500)
  const delays = monitorEventLoopDelay({ resolution: 10 })
  delays.enable()
  dev.program.signal('SIGTERM')
  await Promise.all(clients)
  delays.disable()
  await pool.destroy()
  expect(await dev.program.ended).toMatchObject({ status: 0, messages: withoutProblems })

  // No connection was cut: every client that was not late got a response that closes its connection.
  const failures = logs.flatMap(({ failure }) => (failure === undefined ? [] : [failure]))
  expect(delays.max < lateNs ? failures : []).toEqual([])
  const acknowledged = logs.flatMap((log) => log.acknowledged)
  const changes = await auditedChanges(dev.auditFolder)
  const committed = changes.filter(({ outcome }) => outcome?.result === 'committed')
  expect(committed.map(({ intent }) => intent.request).toSorted()).toEqual(acknowledged.toSorted())
  expect(changes.length).toBe(committed.length)
  const { status, output } = await runCommand(['audit', 'verify', dev.auditFolder])
  expect({ status, output }).toEqual({
    status: 0,
    output: expect.stringMatching(/^good: .* 0 changes without an outcome\n$/),
  })
})

/**
 * Creates namespaces one after the other until a response closes the connection, as for load balancers, or a request
 * fails.
 */
async function runClient(pool: Pool, key: string, number: number, log: ClientLog): Promise<void> {
  try {
    for (let count = 0; ; count += 1) {
      const { statusCode, headers, body } = await pool.request({
        method: 'POST',
        path: `/v1/namespace/client-${number}-${count}/create`,
        headers: { 'x-api-key': key, 'content-type': 'application/json' },
        body: '{}',
      })
      await body.dump()
      if (statusCode !== 200) throw new Error(`answered with ${statusCode}`)
      log.acknowledged.push(String(headers['x-request-id']))
      if (headers['connection'] === 'close') return
    }
  } catch (error) {
    log.failure = error
  }
}
