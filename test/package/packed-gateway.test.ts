import { execFile } from 'node:child_process'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, it } from 'vitest'
import { projectFolder, startNode } from '../e2e/built-program.ts'
import { listenLocally } from '../support/local-server.ts'
import { removeFolder } from '../support/temporary-folder.ts'
import { createPackedApplication } from './packed-application.ts'

// The package of the gateway as npm packs it, installed without that of the bundled catalog.
const run = promisify(execFile)

const typescript = `
import { readFileSync } from 'node:fs'
import fastify from 'fastify'
import { catalogGateway, type EmbeddedSettings } from 'catalog-gateway/fastify'

const settings: EmbeddedSettings = {
  upstream: { url: 'https://catalog.internal:8443' },
  policies: { folder: 'policies' },
  audit: { folder: 'audit' },
}
const authenticate = () => ({ name: 'ada', groups: ['analysts'] })

const app = fastify()
await app.register(catalogGateway, { settings, prefix: '/catalog', authenticate })
app.addHook('onResponse', async (request) => request.log.info(request.catalogPrincipal?.name))
app.get('/metrics', async () => (await app.catalogGateway.metrics()).text)

const https = { key: readFileSync('tls.key'), cert: readFileSync('tls.crt') }
await fastify({ https }).register(catalogGateway, { settings, authenticate })
`
const policy = `
apiVersion: catalog-gateway/v1
kind: AccessPolicy
metadata: { name: anyone }
namespace: []
rules: [{ id: anyone-reads, effect: allow, subjects: { anonymous: true }, operations: [read] }]
`

const settings = {
  listen: { port: 0 },
  upstream: { url: 'http://127.0.0.1:1' },
  identity: { anonymous: true },
  policies: { folder: 'policies' },
  audit: { folder: 'audit' },
}

const folder = await createPackedApplication({
  'application.ts': typescript,
  'misspelled.ts': typescript.replace('folder:', 'path:'),
})
await mkdir(join(folder, 'policies'))
await writeFile(join(folder, 'policies', 'anyone.yaml'), policy)
afterAll(() => removeFolder(folder))

const start = (...parameters: readonly string[]) =>
  startNode(['node_modules/catalog-gateway/dist/main.js', ...parameters], { folder })

it('it has no native module', async () => {
  const files = await readdir(join(folder, 'node_modules'), { recursive: true })
  expect(files.length).toBeGreaterThan(1_000)
  expect(files.filter((file) => file.endsWith('.node'))).toEqual([])
})

it('its program and its modules cannot be imported', async () => {
  const names = ['catalog-gateway', 'catalog-gateway/dist/main.js']
  const importAll = `Promise.allSettled(${JSON.stringify(names)}.map((name) => import(name)))`
  const codes = `console.log((await ${importAll}).map(({ reason }) => reason?.code).join())`
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', codes], { cwd: folder })
  expect(stdout).toBe('ERR_PACKAGE_PATH_NOT_EXPORTED,ERR_PACKAGE_PATH_NOT_EXPORTED\n')
})

it('it serves an upstream', async () => {
  const upstream = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json')
    response.end('{"namespaces":["sales"]}')
  })
  const url = `http://127.0.0.1:${await listenLocally(upstream)}`
  await writeFile(join(folder, 'gateway.yaml'), JSON.stringify({ ...settings, upstream: { url } }))
  const program = start('serve', '--config', 'gateway.yaml')
  const response = await fetch(`${await program.announced(/^listening on (http:\S+)$/m)}/v1/namespace/$/list`)
  expect(await response.json()).toEqual({ namespaces: ['sales'] })
  program.signal('SIGTERM')
  expect((await program.ended).status).toBe(0)
})

it.each([
  ['backend --config catalog.yaml', 'pack it in a checkout of version 0.1.0'],
  ['dev --port 0 --admin-port 0', 'pack it in a checkout of version 0.1.0'],
  [
    'check --config shared.yaml',
    'limits.shared needs a package of its own; run: npm install @redis/client@6',
  ],
])('`%s` says what to install', async (command, says) => {
  const shared = { ...settings, limits: { shared: { url: 'redis://127.0.0.1:1' } } }
  await writeFile(join(folder, 'shared.yaml'), JSON.stringify(shared))
  const { status, messages } = await start(...command.split(' ')).ended
  expect(status).toBe(1)
  expect(messages).toContain(says)
})

it('strict TypeScript compiles with its declarations, and not with a misspelled setting', async () => {
  const compiler = join(projectFolder, 'node_modules', '.bin', 'tsc')
  const options = '--strict --exactOptionalPropertyTypes --noEmit --module nodenext --types node'.split(' ')
  const { stdout } = await run(compiler, [...options, 'application.ts', 'misspelled.ts'], {
    cwd: folder,
  }).catch((error: unknown) => error as { readonly stdout: string })
  const diagnostics = stdout.split('\n').filter((line) => line !== '')
  expect(diagnostics.filter((line) => !/^(?:misspelled\.ts\(| )/.test(line))).toEqual([])
  expect(stdout).toMatch(/^misspelled\.ts\([^]*'path' does not exist in type/)
})
