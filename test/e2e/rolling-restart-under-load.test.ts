import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { expect, it } from 'vitest'
import { servingProgram } from '../observability/serving-gateway.ts'
import { eventually } from '../support/eventually.ts'
import { listenLocally } from '../support/local-server.ts'
import { runCommand } from '../support/run-command.ts'
import { auditedChanges } from './audited-changes.ts'
import { startProgram, type Program } from './built-program.ts'

const key = 'a-key-of-32-characters-that-both-replicas-accept'
/** After this time, a Service of Kubernetes sends no more connections to a pod that ends. */
const propagationMs = 1_000

interface Replica {
  readonly folder: string
  program: Program
  url: string
}

async function isReady(adminUrl: string): Promise<boolean> {
  return (await fetch(`${adminUrl}/readyz`)).status === 200
}

/** Starts a balancer of connections, as a Service is: one after the other goes to the next of these URLs. */
async function startBalancer(urls: ReadonlySet<string>): Promise<string> {
  let count = 0
  const server = createServer((client) => {
    const { port } = new URL([...urls][(count += 1) % urls.size] ?? '')
    const gateway = connect(Number(port), '127.0.0.1')
    client.pipe(gateway).pipe(client)
    for (const [one, other] of [
      [client, gateway],
      [gateway, client],
    ] as const)
      one.on('error', () => other.destroy()).on('close', () => other.destroySoon())
  })
  return `http://127.0.0.1:${await listenLocally(server)}`
}

/** A client with one connection that it keeps alive. Resolves with the ids of its changes; rejects if one fails. */
async function runClient(url: string, number: number, signal: AbortSignal): Promise<readonly string[]> {
  const dispatcher = new Agent({ connections: 1 })
  const changes: string[] = []
  for (let count = 0; !signal.aborted; count += 1) {
    const target = count % 3 === 0 ? `load-${number}-${count}/create` : 'n/exists'
    const { statusCode, headers, body } = await request(`${url}/v1/namespace/${target}`, {
      dispatcher,
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: '{}',
    })
    const text = await body.text()
    if (statusCode !== 200) throw new Error(`answered with ${statusCode}: ${text}`)
    if (count % 3 === 0) changes.push(String(headers['x-request-id']))
    await pause(5)
  }
  await dispatcher.close()
  return changes
}

it('a rolling restart of two replicas under load loses no request and no audit record', async () => {
  const identity = { bootstrapKey: { file: 'bootstrap-key', principal: 'dev' } }
  const started = [1, 2].map(() => servingProgram({ identity }, { 'bootstrap-key': key }))
  const replicas: readonly Replica[] = await Promise.all(started)
  for (const { adminUrl } of await Promise.all(started)) expect(await isReady(adminUrl)).toBe(true)
  const serving = new Set(replicas.map(({ url }) => url))
  const url = await startBalancer(serving)
  const ending = new AbortController()
  const clients = [1, 2, 3, 4].map((number) => runClient(url, number, ending.signal))
  const load = Promise.all(clients).finally(() => ending.abort())
  load.catch(() => undefined)

  for (const replica of replicas) {
    await pause(500)
    const before = replica.url
    setTimeout(() => serving.delete(before), propagationMs)
    replica.program.signal('SIGTERM')
    expect(await replica.program.ended).toMatchObject({ status: 0 })
    replica.program = startProgram(['serve', '--config', join(replica.folder, 'gateway.yaml')])
    replica.url = await replica.program.announced(/^listening on (http:\S+)$/m)
    const adminUrl = await replica.program.announced(/^admin on (http:\S+)$/m)
    await eventually(async () => expect(await isReady(adminUrl)).toBe(true))
    serving.add(replica.url)
  }
  await pause(500)
  ending.abort()
  const acknowledged = (await load).flat()
  expect(acknowledged.length).toBeGreaterThan(100)

  const committed: string[] = []
  for (const { program, folder } of replicas) {
    program.signal('SIGTERM')
    expect(await program.ended).toMatchObject({ status: 0 })
    const audit = join(folder, 'audit')
    for (const { intent, outcome } of await auditedChanges(audit))
      if (outcome?.result === 'committed') committed.push(intent.request)
    const { status, output } = await runCommand(['audit', 'verify', audit])
    expect({ status, output }).toMatchObject({ status: 0, output: expect.stringMatching(/^good: /) })
  }
  expect(committed.toSorted()).toEqual(acknowledged.toSorted())
}, 120_000)
