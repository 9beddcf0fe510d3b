import { request } from 'node:https'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { readAuditLog } from '../../src/audit/storage/read-audit-log.ts'
import { hasOpenssl } from '../identity/mtls/test-certificates.ts'
import { isThorough } from '../support/thorough.ts'
import { auditedChanges } from './audited-changes.ts'
import { runCommand } from '../support/run-command.ts'
import { startRotatingInstallation, type RotatingInstallation } from './rotating-installation.ts'
import { eventually } from '../support/eventually.ts'

/** Set `ROTATION_MINUTES` for a longer run, in which every file is replaced each minute. */
const minutes = Number(process.env['ROTATION_MINUTES'] ?? 0)
const rounds = minutes > 0 ? minutes : isThorough ? 4 : 2
const roundMs = minutes > 0 ? 60_000 : 0
/** The upstream is away for a moment at a time. What may have been done (424) can be repeated here: every call names its result. */
const statusesToRetry: ReadonlySet<number> = new Set([424, 502, 503, 504])

it.skipIf(!hasOpenssl())(
  'every file is replaced under load, the catalog killed, and records refused: no call fails, no record is lost',
  async () => {
    const installation = await startRotatingInstallation()
    const ending = new AbortController()
    const created: string[] = []
    const callers = [
      ...['key', 'token'].map((kind) => readRepeatedly(installation, kind === 'key', ending.signal)),
      ...['a', 'b'].map((name) => createRepeatedly(installation, name, created, ending.signal)),
    ]
    const calls = Promise.all(callers)
    for (let round = 0; round < rounds; round += 1) {
      const nextAt = Date.now() + roundMs
      await Promise.race([installation.rotate(), calls])
      await pause(Math.max(0, nextAt - Date.now()))
    }
    await pause(2_000)
    ending.abort()
    const counts = await calls
    for (const count of counts) expect(count).toBeGreaterThan(10 * rounds)

    const listed = await listNamespaces(installation)
    expect(created.filter((name) => !listed.has(name))).toEqual([])
    await eventually(async () => {
      const changes = await auditedChanges(installation.auditFolder)
      expect(changes.filter(({ outcome }) => outcome === undefined)).toEqual([])
    })
    const changes = await auditedChanges(installation.auditFolder, 'CreateNamespace')
    const audited = new Set(changes.map(({ intent }) => intent.id?.join('$')))
    expect(created.filter((name) => !audited.has(name))).toEqual([])
    await eventually(async () => {
      const delivered = new Set(installation.delivered().map(identify))
      const missing: string[] = []
      for await (const record of readAuditLog(installation.auditFolder)) {
        const id = identify(JSON.stringify(record))
        if (!delivered.has(id)) missing.push(id)
      }
      expect(missing).toEqual([])
    })
    await installation.stop()
    const { status, output } = await runCommand(['audit', 'verify', installation.auditFolder])
    expect({ status, output }).toMatchObject({ status: 0 })
  },
  120_000 + minutes * 61_000,
)

/** Returns the number of calls. */
async function readRepeatedly(
  installation: RotatingInstallation,
  isWithKey: boolean,
  signal: AbortSignal,
): Promise<number> {
  let calls = 0
  for (; !signal.aborted; calls += 1) {
    const { status, body } = await callUntilAvailable(
      installation,
      'GET',
      '/v1/namespace/$/list?limit=1',
      isWithKey,
    )
    expect({ status, body }).toMatchObject({ status: 200 })
  }
  return calls
}

/** Reads all pages. */
async function listNamespaces(installation: RotatingInstallation): Promise<ReadonlySet<string>> {
  const names = new Set<string>()
  for (let token: string | undefined = ''; token !== undefined;) {
    const target = `/v1/namespace/$/list?page_token=${encodeURIComponent(token)}`
    const { status, body } = await call(installation, 'GET', target)
    expect({ status, body }).toMatchObject({ status: 200 })
    const page = JSON.parse(body) as { readonly namespaces: readonly string[]; readonly page_token?: string }
    for (const name of page.namespaces) names.add(name)
    token = page.page_token
  }
  return names
}

/** Creates namespaces, whose names it adds to `created`. Returns their number. */
async function createRepeatedly(
  installation: RotatingInstallation,
  prefix: string,
  created: string[],
  signal: AbortSignal,
): Promise<number> {
  let calls = 0
  for (; !signal.aborted; calls += 1) {
    const name = `${prefix}${calls}`
    const { status, body, tries } = await callUntilAvailable(
      installation,
      'POST',
      `/v1/namespace/${name}/create`,
      true,
    )
    // A try whose response was lost may have created it.
    if (status !== 409 || tries === 1) expect({ status, body }).toMatchObject({ status: 200 })
    created.push(name)
  }
  return calls
}

interface Response {
  readonly status: number
  readonly body: string
}

async function callUntilAvailable(
  installation: RotatingInstallation,
  method: string,
  target: string,
  isWithKey: boolean,
): Promise<Response & { readonly tries: number }> {
  for (let tries = 1; ; tries += 1) {
    const response = await call(installation, method, target, isWithKey)
    if (!statusesToRetry.has(response.status) || tries === 100) return { ...response, tries }
    await pause(100)
  }
}

/** On a connection of its own, so that the certificate is verified each time. */
function call(
  installation: RotatingInstallation,
  method: string,
  target: string,
  isWithKey = true,
): Promise<Response> {
  const { key, token, trusted } = installation.caller()
  const credential = isWithKey ? { 'x-api-key': key } : { authorization: `Bearer ${token}` }
  const body = method === 'POST' ? '{}' : ''
  return new Promise((resolve, reject) => {
    const sent = request(installation.url + target, {
      method,
      ca: [...trusted],
      agent: false,
      headers: { ...credential, ...(body !== '' && { 'content-type': 'application/json' }) },
    })
    sent.on('error', reject)
    sent.on('response', (response) => {
      text(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject)
    })
    sent.end(body)
  })
}

/** Chains and numbers identify records. */
function identify(line: string): string {
  const { chain, seq } = JSON.parse(line) as { chain: string; seq: number }
  return `${chain} ${seq}`
}
