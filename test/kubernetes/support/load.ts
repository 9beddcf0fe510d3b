import { appendFile, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { inject } from 'vitest'
import { auditedChanges } from '../../e2e/audited-changes.ts'
import { volumesFolder } from './node/volume-provisioner.ts'
import type { Release } from './release.ts'

/** What clients have seen during a scenario. */
export interface Losses {
  readonly requests: number
  /** Requests with another response than 200, by status or error. */
  readonly failed: Readonly<Record<string, number>>
  /** From the first failed request to the last one, in seconds. */
  readonly outageSeconds: number
  /** Changes that were answered with success. */
  readonly changes: number
  /** Ids of those without an intent and a committed outcome in the audit logs. */
  readonly lostRecords: readonly string[]
  /** What the gateways logged about the catalog, if a request failed. */
  readonly reasons: readonly string[]
}

const clients = 4
const pauseMs = 25

/** Sends reads and changes while something is done, and prints what was lost. */
export async function underLoad(
  scenario: string,
  release: Release,
  act: () => Promise<void>,
): Promise<Losses> {
  const ending = new AbortController()
  const results = Array.from({ length: clients }, (_, number) => runClient(release, number, ending.signal))
  try {
    // Before and after, so that a change of state is seen.
    await setTimeout(500)
    await act()
    await setTimeout(1_500)
  } finally {
    ending.abort()
  }
  const all = await Promise.all(results)
  const failed: Record<string, number> = {}
  const failures = all.flatMap(({ failures }) => failures)
  for (const { reason } of failures) failed[reason] = (failed[reason] ?? 0) + 1
  const times = failures.map(({ time }) => time)
  const outageSeconds = times.length === 0 ? 0 : Math.ceil((Math.max(...times) - Math.min(...times)) / 1_000)
  const changes = all.flatMap(({ changes }) => changes)
  const recorded = await readCommittedChanges(release)
  const lostRecords = changes.filter((id) => !recorded.has(id))
  const requests = all.reduce((sum, { requests }) => sum + requests, 0)
  const reasons = failures.length === 0 ? [] : await readUpstreamLog(release)
  const losses = { requests, failed, outageSeconds, changes: changes.length, lostRecords, reasons }
  await report(scenario, losses)
  return losses
}

/** What a scenario without any loss returns. */
export function noLosses(losses: Losses): Losses {
  return { ...losses, failed: {}, outageSeconds: 0, lostRecords: [], reasons: [] }
}

interface ClientResult {
  requests: number
  readonly failures: { readonly time: number; readonly reason: string }[]
  readonly changes: string[]
}

/** A client with one connection that it keeps alive. */
async function runClient(
  { url, apiKey }: Release,
  number: number,
  signal: AbortSignal,
): Promise<ClientResult> {
  const dispatcher = new Agent({ connections: 1 })
  const result: ClientResult = { requests: 0, failures: [], changes: [] }
  const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' }
  const addFailure = (reason: string) => result.failures.push({ time: Date.now(), reason })
  while (!signal.aborted) {
    const { requests } = result
    result.requests += 1
    const isChange = requests % 3 === 0
    const target = isChange ? `load-${number}-${Date.now()}-${requests}/create` : '$/list?limit=1'
    try {
      const {
        statusCode,
        headers: responseHeaders,
        body,
      } = await request(`${url}/v1/namespace/${target}`, {
        dispatcher,
        headers,
        ...(isChange ? { method: 'POST', body: '{}' } : { method: 'GET' }),
      })
      const text = await body.text()
      if (statusCode !== 200) addFailure(`${statusCode} ${/"error":"([^"]*)"/.exec(text)?.[1] ?? ''}`)
      else if (isChange) result.changes.push(String(responseHeaders['x-request-id']))
    } catch (error) {
      addFailure(error instanceof Error && 'code' in error ? String(error.code) : String(error))
    }
    await setTimeout(pauseMs)
  }
  await dispatcher.close()
  return result
}

/** Ids of requests with an intent and a committed outcome, in the logs of all gateways that there ever were. */
async function readCommittedChanges({ namespace }: Release): Promise<ReadonlySet<string>> {
  const volumes = volumesFolder(inject('cluster').folder, namespace.name)
  const claims = (await readdir(volumes)).filter((name) => /-gateway-\d+$/.test(name))
  const changes = await Promise.all(claims.map((claim) => auditedChanges(join(volumes, claim, 'audit'))))
  return new Set(
    changes
      .flat()
      .filter(({ outcome }) => outcome?.result === 'committed')
      .map(({ intent }) => intent.request),
  )
}

/** Lines about the catalog in the logs of all gateways that there ever were. */
async function readUpstreamLog({ namespace }: Release): Promise<readonly string[]> {
  const folder = join(inject('cluster').folder, 'logs')
  const isGateway = new RegExp(`^${namespace.name}_.*-gateway-\\d+_`)
  const files = (await readdir(folder)).filter((name) => isGateway.test(name))
  const logs = await Promise.all(files.map((name) => readFile(join(folder, name), 'utf8')))
  return logs.flatMap((log) => log.split('\n').filter((line) => /"msg":"(circuit|upstream) /.test(line)))
}

async function report(
  scenario: string,
  { requests, failed, outageSeconds, changes, lostRecords }: Losses,
): Promise<void> {
  const reasons = Object.entries(failed).map(([reason, count]) => `${count} x ${reason}`)
  const lost = reasons.length === 0 ? '0' : `${reasons.join(', ')} in ${outageSeconds} s`
  const line = `${scenario}: ${requests} requests, ${lost} lost; ${changes} changes, ${lostRecords.length} records lost\n`
  await appendFile(join(inject('cluster').folder, 'losses.txt'), line)
}
