import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { startRecordingUpstream } from '../support/recording-upstream.ts'
import { eventually } from '../../support/eventually.ts'

/** No file of this gateway can exceed 64 KiB: a write beyond fails with EFBIG. */
const limited = 'ulimit -f 64; exec "$0" --import tsx "$@"'

interface Reachable {
  readonly url: string
  readonly adminUrl: string
  readonly key: string
}

async function limitedGateway(upstreamUrl: string): Promise<Reachable> {
  const program = join(import.meta.dirname, '../support/gateway-process.ts')
  const child = spawn('bash', ['-c', limited, process.execPath, program, upstreamUrl], {
    env: { ...process.env, TSX_DISABLE_CACHE: '1' },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(async () => {
    const exited = once(child, 'exit')
    child.stdin.end()
    await exited
  })
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  return JSON.parse(String(line)) as Reachable
}

it.skipIf(process.platform === 'win32')(
  'refuses changes and serves reads while the audit log is not writable',
  async () => {
    const upstream = await startRecordingUpstream()
    onTestFinished(() => upstream.close())
    const { url, adminUrl, key } = await limitedGateway(upstream.url)
    const large = { tag: 'x'.repeat(1_000), branch: 'x'.repeat(1_000) }
    const send = (path: string, body: object) =>
      fetch(url + path, {
        method: 'POST',
        headers: { 'x-api-key': key, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    const change = () => send('/v1/table/orders/tags/create', large)

    let status = 200
    while (status === 200) ({ status } = await change())
    expect(status).toBe(503)
    const passed = upstream.requests.length
    expect(passed).toBeGreaterThan(0)
    const refused = await change()
    expect(refused.headers.get('retry-after')).toBe('1')
    expect(await refused.json()).toEqual({
      error: expect.stringMatching(/the change was not made: the audit log is unavailable; retry later/),
      code: 17,
      instance: refused.headers.get('x-request-id'),
    })
    expect(upstream.requests).toHaveLength(passed)
    expect((await send('/v1/table/orders/describe', {})).status).toBe(200)

    // A small record may fit again, so that the log counts as writable until the next change.
    await eventually(async () => {
      expect((await change()).status).toBe(503)
      const ready = await fetch(`${adminUrl}/readyz`)
      expect(await ready.json()).toMatchObject({
        problems: { audit: expect.stringMatching(/changes are refused/) },
      })
    })
    const metrics = await (await fetch(`${adminUrl}/metrics`)).text()
    expect(metrics).toMatch(/^catalog_gateway_audit_write_failures_total [1-9]/m)
    expect(metrics).toContain('catalog_gateway_refusals_total{stage="audit",reason="audit_write_failed"}')
  },
)
