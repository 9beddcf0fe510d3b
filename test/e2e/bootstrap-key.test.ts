import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { stringify } from 'yaml'
import { startProgram } from './built-program.ts'
import { runCommand } from '../support/run-command.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const key = 'a-key-of-more-than-thirty-two-characters'

/** Settings of a gateway whose only credential is a bootstrap key. */
async function settingsWith(upstream: string, text: string): Promise<string> {
  const folder = await temporaryFolder()
  await mkdir(join(folder, 'policies'))
  await writeFile(join(folder, 'key'), `${text}\n`)
  const policy = {
    apiVersion: 'catalog-gateway/v1',
    kind: 'AccessPolicy',
    metadata: { name: 'founders' },
    namespace: [],
    rules: [
      { id: 'list', effect: 'allow', subjects: { groups: ['founders'] }, operations: ['ListNamespaces'] },
    ],
  }
  await writeFile(join(folder, 'policies', 'founders.yaml'), stringify(policy))
  const file = join(folder, 'gateway.yaml')
  const settings = {
    listen: { port: 0 },
    admin: { port: 0 },
    upstream: { url: upstream },
    identity: { bootstrapKey: { file: 'key', principal: 'founder', groups: ['founders'] } },
    policies: { folder: 'policies' },
    audit: { folder: 'audit' },
  }
  await writeFile(file, stringify(settings))
  return file
}

async function startCatalog(): Promise<string> {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json').end('{"namespaces":[]}')
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

it('the bootstrap key authenticates its principal and groups, without a key store', async () => {
  const gateway = startProgram(['serve', '--config', await settingsWith(await startCatalog(), key)])
  const url = await gateway.announced(/^listening on (\S+)$/m)
  const list = async (apiKey: string, target = '/v1/namespace/$/list'): Promise<number> =>
    (await fetch(url + target, { headers: { 'x-api-key': apiKey } })).status
  expect(await list(key)).toBe(200)
  expect(await list(key, '/v1/namespace/x/table/list')).toBe(403)
  expect(await list(`${key}x`)).toBe(401)
  gateway.signal('SIGTERM')
  expect(await gateway.ended).toMatchObject({ status: 0 })
})

it('a bootstrap key that can be guessed is refused, and not printed', async () => {
  const file = await settingsWith('http://127.0.0.1:9', 'short-key')
  for (const command of ['check', 'serve']) {
    const { status, messages } = await runCommand([command, '--config', file])
    expect(status).toBe(1)
    expect(messages).toContain('key: expected a key of 32 to 256 printable characters without spaces')
    expect(messages).not.toContain('short-key')
  }
})
