import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { rm, writeFile, cp } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { verifyAuditLog } from '../../../src/audit/verify/verify-audit-log.ts'
import { respondWith, startRecordingUpstream } from '../../gateway/support/recording-upstream.ts'
import { ofKind, recordsOf } from '../audit-fixtures.ts'
import { keyOf } from '../verify/forge-log.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { eventually } from '../../support/eventually.ts'

/** A small disk that is really full, in a private mount namespace. */
const onSmallDisk = 'mount -t tmpfs -o size=4m tmpfs "$TMPDIR" && exec "$0" --import tsx "$@"'
const canMount = spawnSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0
if (!canMount) console.warn('SKIPPED: the test of a full disk, as no file system can be mounted here.')

async function gatewayOnSmallDisk(upstreamUrl: string) {
  const folder = await temporaryFolder()
  const program = join(import.meta.dirname, 'small-disk-process.ts')
  const parameters = ['-rm', 'bash', '-c', onSmallDisk, process.execPath, program, upstreamUrl]
  const child = spawn('unshare', parameters, {
    env: { ...process.env, TMPDIR: folder, TSX_DISABLE_CACHE: '1' },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  onTestFinished(async () => {
    child.stdin.end()
    await exited
  })
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  const printed = JSON.parse(String(line)) as Record<'url' | 'adminUrl' | 'auditFolder' | 'key', string>
  // Accesses the private mount through the process.
  return { ...printed, seen: (path: string) => `/proc/${child.pid}/root${path}`, folder }
}

it.skipIf(!canMount)('takes no space for a reserve that outcomes need', async () => {
  const program = join(import.meta.dirname, 'reserve-process.ts')
  const parameters = ['-rm', 'bash', '-c', onSmallDisk, process.execPath, program]
  const env = { ...process.env, TMPDIR: await temporaryFolder(), TSX_DISABLE_CACHE: '1' }
  const { stdout } = await promisify(execFile)('unshare', parameters, { env })
  expect(JSON.parse(stdout)).toEqual({ whileFull: false, files: [], later: true })
})

it.skipIf(!canMount)('a full disk fails only changes, with 503, until there is space again', async () => {
  const upstream = await startRecordingUpstream()
  onTestFinished(() => upstream.close())
  const { url, adminUrl, auditFolder, key, seen, folder } = await gatewayOnSmallDisk(upstream.url)
  const post = (path: string, headers: Record<string, string> = { 'x-api-key': key }) =>
    fetch(url + path, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: '{}',
    })
  const change = async () => (await post('/v1/table/orders/update')).status
  const logged = () => recordsOf(seen(auditFolder))
  expect(await change()).toBe(200)

  // One change is in progress when the disk becomes full: its outcome must fit.
  let response: (() => void) | undefined
  const responded = new Promise<void>((resolve) => (response = resolve))
  upstream.answering = async (...call) => {
    await responded
    return respondWith(200, {})(...call)
  }
  const underWay = change()
  await eventually(() => expect(upstream.requests).toHaveLength(2))
  upstream.answering = respondWith(200, {})
  const filling = join(seen(folder), 'filling')
  await writeFile(filling, Buffer.alloc(8 * 1024 * 1024)).catch((error: NodeJS.ErrnoException) =>
    expect(error.code).toBe('ENOSPC'),
  )
  await eventually(async () => expect(await change()).toBe(503))
  const passed = upstream.requests.length
  const refused = await post('/v1/table/orders/update')
  expect(refused.status).toBe(503)
  expect(refused.headers.get('retry-after')).toBe('1')
  response?.()
  expect(await underWay).toBe(200)
  expect(upstream.requests).toHaveLength(passed)
  const [intents, outcomes] = [ofKind(await logged(), 'intent'), ofKind(await logged(), 'outcome')]
  expect(intents).toHaveLength(passed)
  expect(outcomes).toHaveLength(passed)

  // All other functions continue: reads succeed, refusals work, and the process is healthy.
  expect((await post('/v1/table/orders/describe')).status).toBe(200)
  expect((await post('/v1/table/orders/update', {})).status).toBe(401)
  expect((await fetch(`${adminUrl}/livez`)).status).toBe(200)
  expect(await (await fetch(`${adminUrl}/readyz`)).json()).toMatchObject({
    problems: { audit: expect.stringMatching(/changes are refused/) },
  })
  const metrics = await (await fetch(`${adminUrl}/metrics`)).text()
  expect(metrics).toContain('catalog_gateway_refusals_total{stage="audit",reason="audit_disk_full"}')

  await rm(filling)
  await eventually(async () => expect(await change()).toBe(200))
  expect((await fetch(`${adminUrl}/readyz`)).status).toBe(200)
  expect(ofKind(await logged(), 'gap').reduce((sum, { refused }) => sum + refused, 0)).toBeGreaterThan(1)
  const copy = await temporaryFolder()
  await cp(seen(auditFolder), copy, { recursive: true })
  expect(await verifyAuditLog(copy, { keys: [await keyOf(copy)] })).toMatchObject({
    ok: true,
    unresolved: 0,
  })
})
