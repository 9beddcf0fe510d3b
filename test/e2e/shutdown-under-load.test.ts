import { setTimeout as pause } from 'node:timers/promises'
import { Pool } from 'undici'
import { expect, it } from 'vitest'
import { auditedChanges } from './audited-changes.ts'
import { runProgram, temporaryFolder } from './built-program.ts'
import { startDev } from './running-dev.ts'

interface ClientLog {
  readonly acknowledged: string[]
  failure: unknown
}

it('drains accepted requests under load and keeps the audit log complete', async () => {
  const dev = await startDev({ dataFolder: await temporaryFolder() })
  const pool = new Pool(dev.url, { connections: 8 })
  const clients = Array.from({ length: 8 }, (_, number) => runClient(pool, dev.key, number))
  await pause(1_500)
  dev.program.signal('SIGTERM')
  const logs = await Promise.all(clients)
  await pool.destroy()
  expect(await dev.program.ended).toMatchObject({ status: 0, messages: '' })

  // No connection was cut: every client got a response that closes its connection.
  expect(logs.map(({ failure }) => failure)).toEqual(logs.map(() => undefined))
  const acknowledged = logs.flatMap((log) => log.acknowledged)
  expect(acknowledged.length).toBeGreaterThan(8)
  const changes = await auditedChanges(dev.auditFolder)
  const committed = changes.filter(({ outcome }) => outcome?.result === 'committed')
  expect(committed.map(({ intent }) => intent.request).toSorted()).toEqual(acknowledged.toSorted())
  expect(changes.length).toBe(committed.length)
  const { status, output } = await runProgram(['audit', 'verify', dev.auditFolder])
  expect({ status, output }).toEqual({
    status: 0,
    output: expect.stringMatching(/^good: .* 0 changes without an outcome\n$/),
  })
})

/**
 * Creates namespaces one after the other until a response closes the connection, as for load balancers, or a request
 * fails.
 */
async function runClient(pool: Pool, key: string, number: number): Promise<ClientLog> {
  const log: ClientLog = { acknowledged: [], failure: undefined }
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
      if (headers['connection'] === 'close') return log
    }
  } catch (error) {
    log.failure = error
  }
  return log
}
