import { mkdir, mkdtemp, rename, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { stringify } from 'yaml'
import { startProgram } from './built-program.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { eventually } from '../support/eventually.ts'

const key = 'a-key-of-more-than-thirty-two-characters'
const [oldToken, newToken] = ['the-old-access-token', 'the-new-access-token']
const target = '/v1/namespace/$/list'

async function startCatalog(folder: string) {
  const file = join(folder, 'catalog.yaml')
  const settings = {
    listen: { port: 0 },
    data: { folder: 'data' },
    accessTokenFiles: ['secret/token', 'secret/additional-token'],
  }
  await writeFile(file, stringify(settings))
  const program = startProgram(['backend', '--config', file])
  return { program, url: await program.announced(/^listening on (\S+)$/m) }
}

async function startGateway(folder: string, upstream: string, token: string) {
  await mkdir(join(folder, 'policies'), { recursive: true })
  await writeFile(join(folder, 'key'), key)
  const rule = { id: 'all', effect: 'allow', subjects: { any: true }, operations: ['all'] }
  const policy = { apiVersion: 'catalog-gateway/v1', kind: 'AccessPolicy', metadata: { name: 'all' } }
  await writeFile(
    join(folder, 'policies', 'all.yaml'),
    stringify({ ...policy, namespace: [], rules: [rule] }),
  )
  const file = join(folder, `gateway-with-${token}.yaml`)
  const settings = {
    listen: { port: 0 },
    admin: { port: 0 },
    upstream: { url: upstream, credential: { value: `Bearer ${token}` } },
    identity: { bootstrapKey: { file: 'key', principal: 'ada' } },
    policies: { folder: 'policies' },
    audit: { folder: `audit-of-${token}` },
  }
  await writeFile(file, stringify(settings))
  const program = startProgram(['serve', '--config', file])
  return { program, url: await program.announced(/^listening on (\S+)$/m) }
}

/** Replaces all keys of a Secret at once, as Kubernetes does: by a symbolic link to another folder. */
async function writeSecret(folder: string, keys: Record<string, string>): Promise<void> {
  const version = await mkdtemp(join(folder, 'secret-'))
  for (const [name, text] of Object.entries(keys)) await writeFile(join(version, name), text)
  await symlink(version, join(version, 'link'))
  await rename(join(version, 'link'), join(folder, 'secret'))
}

it('a rotation of the access token refuses no request, and ends with the old token refused', async () => {
  const folder = await temporaryFolder()
  await writeSecret(folder, { token: oldToken })
  const catalog = await startCatalog(folder)
  const direct = async (accessToken: string): Promise<number> =>
    (await fetch(catalog.url + target, { headers: { authorization: `Bearer ${accessToken}` } })).status
  const before = await startGateway(folder, catalog.url, oldToken)
  let { url } = before
  const ending = new AbortController()
  const statuses = new Map<number, number>()
  /** The gateway that has responded last, by caller. */
  const called = new Map<number, string>()
  const load = Array.from({ length: 4 }, async (_, caller) => {
    while (!ending.signal.aborted) {
      const gateway = url
      const { status } = await fetch(gateway + target, { headers: { 'x-api-key': key } })
      called.set(caller, gateway)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
  })
  expect(await direct(newToken)).toBe(401)
  await writeSecret(folder, { token: oldToken, 'additional-token': newToken })
  await eventually(async () => expect(await direct(newToken)).toBe(200))
  const after = await startGateway(folder, catalog.url, newToken)
  ;({ url } = after)
  await writeSecret(folder, { token: newToken, 'additional-token': oldToken })
  // No request is on its way to a connection that the other one closes.
  await eventually(() => expect([...called.values()]).toEqual(load.map(() => url)))
  before.program.signal('SIGTERM')
  expect(await before.program.ended).toMatchObject({ status: 0 })
  await writeSecret(folder, { token: newToken })
  await eventually(async () => expect(await direct(oldToken)).toBe(401))
  await sleep(500)
  ending.abort()
  await Promise.all(load)
  expect([...statuses.keys()]).toEqual([200])
  expect(statuses.get(200)).toBeGreaterThan(100)
  await writeSecret(folder, { token: 'short' })
  await sleep(1500)
  expect(await direct(newToken)).toBe(200)
  for (const { program } of [after, catalog]) {
    program.signal('SIGTERM')
    expect(await program.ended).toMatchObject({ status: 0 })
  }
}, 60_000)

it('a catalog whose token files are missing does not start', async () => {
  const folder = await temporaryFolder()
  const file = join(folder, 'catalog.yaml')
  const settings = { listen: { port: 0 }, data: { folder: 'data' }, accessTokenFiles: ['token'] }
  await writeFile(file, stringify(settings))
  const { status, messages } = await startProgram(['backend', '--config', file]).ended
  expect(status).toBe(1)
  expect(messages).toContain('expected an access token in')
})
