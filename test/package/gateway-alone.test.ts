import { createServer } from 'node:http'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startNode } from '../e2e/built-program.ts'
import { createPackedApplication } from './packed-application.ts'
import { removeFolder } from '../support/temporary-folder.ts'
import { listenLocally } from '../support/local-server.ts'

const policy = `
apiVersion: catalog-gateway/v1
kind: AccessPolicy
metadata: { name: anyone }
namespace: []
rules: [{ id: anyone-reads, effect: allow, subjects: { anonymous: true }, operations: [read] }]
`

let folder: string

beforeAll(async () => {
  folder = await createPackedApplication({})
  await mkdir(join(folder, 'policies'))
  await writeFile(join(folder, 'policies', 'anyone.yaml'), policy)
})

afterAll(() => removeFolder(folder))

const start = (...parameters: readonly string[]) =>
  startNode(['node_modules/catalog-gateway/dist/main.js', ...parameters], { folder })

it('an installation of the gateway alone has no native module', async () => {
  const files = await listFiles(join(folder, 'node_modules'))
  expect(files.length).toBeGreaterThan(1_000)
  expect(files.filter((file) => file.endsWith('.node'))).toEqual([])
})

it('it serves an upstream', async () => {
  const upstream = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json')
    response.end('{"namespaces":["sales"]}')
  })
  const settings = {
    listen: { port: 0 },
    upstream: { url: `http://127.0.0.1:${await listenLocally(upstream)}` },
    identity: { anonymous: true },
    policies: { folder: 'policies' },
    audit: { folder: 'audit' },
  }
  await writeFile(join(folder, 'gateway.yaml'), JSON.stringify(settings))
  const program = start('serve', '--config', 'gateway.yaml')
  const url = await program.announced(/^listening on (http:\S+)$/m)
  const response = await fetch(`${url}/v1/namespace/$/list`)
  expect(await response.json()).toEqual({ namespaces: ['sales'] })
  program.signal('SIGTERM')
  expect((await program.ended).status).toBe(0)
})

it.each(['backend --config catalog.yaml', 'dev --port 0 --admin-port 0'])(
  '`%s` says what to install',
  async (command) => {
    const { status, messages } = await start(...command.split(' ')).ended
    expect(status).toBe(1)
    expect(messages).toContain('pack it in a checkout of version 0.1.0')
  },
)

it('limits that are shared say what to install', async () => {
  const settings = {
    upstream: { url: 'http://127.0.0.1:1' },
    identity: { anonymous: true },
    policies: { folder: 'policies' },
    audit: { folder: 'audit' },
    limits: { shared: { url: 'redis://127.0.0.1:1' } },
  }
  await writeFile(join(folder, 'shared.yaml'), JSON.stringify(settings))
  const { status, messages } = await start('check', '--config', 'shared.yaml').ended
  expect(status).toBe(1)
  expect(messages).toContain('limits.shared needs a package of its own; run: npm install @redis/client@6')
})

async function listFiles(top: string): Promise<readonly string[]> {
  const entries = await readdir(top, { withFileTypes: true })
  const files = entries.map(async (entry) => {
    const path = join(top, entry.name)
    return entry.isFile() ? [path] : listFiles(path)
  })
  return (await Promise.all(files)).flat()
}
