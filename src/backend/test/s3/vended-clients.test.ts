import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, inject, it } from 'vitest'
import { allowEverything } from '../../../../test/gateway/support/open-gateway.ts'
import { startGatewayBefore } from '../../../../test/gateway/support/running-gateway.ts'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { runningBackend } from '../support/running-backend.ts'
import { freshBucket } from './object-store.ts'

const program = fileURLToPath(new URL('vended-client-process.ts', import.meta.url))

/**
 * Starts the gateway before a catalog in a bucket: `dev` may do everything, `outsider` everything but receive
 * credentials.
 */
async function gatewayBeforeBucket(vending: object) {
  const bucket = await freshBucket()
  const { data, store } = bucket.settings
  const { url, get, post } = await runningBackend(
    { data: { s3: { ...data.s3, vending } }, store },
    bucket.folder,
  )
  const [all] = allowEverything.rules
  if (all === undefined) throw new Error('the policy has no rules')
  const subjects = { users: ['outsider'] }
  const gateway = await startGatewayBefore(url(), {
    users: ['outsider'],
    policies: [
      {
        ...allowEverything,
        rules: [
          all,
          { ...all, id: 'most', subjects },
          { id: 'but-credentials', effect: 'deny', subjects, operations: ['credentials'] },
        ],
      },
    ],
  })
  await post('/v1/namespace/a/create', {})
  return { gateway, get, post, bucket }
}

/** Runs a client in its own process, which knows only the storage options that it receives, and returns its output. */
async function clientSays(url: string, key: string, ...steps: readonly string[]): Promise<string[]> {
  const environment = Object.entries(process.env).filter(([name]) => !name.startsWith('AWS_'))
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--import', 'tsx', program, url, key, ...steps],
    { env: { ...Object.fromEntries(environment), AWS_EC2_METADATA_DISABLED: 'true' } },
  )
  return stdout.trim().split('\n')
}

function temporary(access: 'read' | 'write') {
  return { mode: 'temporary', roleArn: inject('s3Role'), access, durationSeconds: 900 }
}

it('lets a client with vended credentials write to the store and commit through the gateway', async () => {
  const { gateway, get, post, bucket } = await gatewayBeforeBucket(temporary('write'))
  const says = await clientSays(gateway.url, gateway.key('dev'), 'create', 'add', 'add', 'open')
  expect(says).toEqual(['create: 1 rows', 'add: 2 rows', 'add: 3 rows', 'open: 3 rows'])
  expect((await get('/v1/table/a$t/count_rows')).json).toBe(3)
  const { versions } = (await post('/v1/table/a$t/version/list')).json as { versions: { version: number }[] }
  expect(versions.map(({ version }) => version)).toEqual([1, 2, 3])
  // The catalog can delete what was written with those credentials.
  expect((await post('/v1/table/a$t/drop')).status).toBe(200)
  expect((await bucket.keys()).filter((key) => key.includes('.lance/'))).toEqual([])
})

it('lets a client with read credentials read but not write', async () => {
  const { gateway, get, post } = await gatewayBeforeBucket(temporary('read'))
  await post('/v1/table/a$t/create', streamOf(orders(2)))
  const says = await clientSays(gateway.url, gateway.key('dev'), 'open', 'add', 'open')
  expect(says).toEqual(['open: 2 rows', expect.stringMatching(/^add: Error/), 'open: 2 rows'])
  expect((await get('/v1/table/a$t/count_rows')).json).toBe(2)
})

it('vends no credentials to a caller without permission, only where the store is', async () => {
  const { gateway, post } = await gatewayBeforeBucket(temporary('write'))
  await post('/v1/table/a$t/create', streamOf(orders(2)))
  const described = await gateway.post('/v1/table/a$t/describe', { as: 'outsider', body: {} })
  expect(described.status).toBe(200)
  expect(described.bytes.toString()).toContain('"managed_versioning":true')
  expect(JSON.parse(described.bytes.toString())).toMatchObject({
    storage_options: { aws_region: 'us-east-1' },
  })
  expect(described.bytes.toString()).not.toMatch(/access_key|secret|session_token|expires_at/)
  const requested = { as: 'outsider', body: { vend_credentials: true } }
  expect(await gateway.post('/v1/table/a$t/describe', requested)).toMatchObject({ status: 403 })
  expect(await clientSays(gateway.url, gateway.key('outsider'), 'open')).toEqual([
    expect.stringMatching(/^open: Error/),
  ])
  // The gateway reads and writes for them.
  const counted = await gateway.get('/v1/table/a$t/count_rows', { as: 'outsider' })
  expect([counted.status, counted.bytes.toString()]).toEqual([200, '2'])
})
