import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { operationNames } from '../../../src/catalog-api/operations.ts'
import { listenLocally } from '../../support/local-server.ts'

const program = fileURLToPath(new URL('../main.ts', import.meta.url))

/** Starts a server that accepts every request. */
const contentServer = () => serverWith(() => '{"properties":{},"location":"x"}')

/** Starts a server that only creates namespaces and lists them on pages without an end. */
const poorServer = () =>
  serverWith((path) =>
    path.endsWith('/create') && path.startsWith('/v1/namespace/')
      ? '{}'
      : path.endsWith('/list') && path.startsWith('/v1/namespace/')
        ? '{"namespaces":["a"],"page_token":"more"}'
        : undefined,
  )

/** Starts a server that responds with this JSON by path, or with an empty 404. */
async function serverWith(respond: (path: string) => string | undefined): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().once('end', () => {
      const body = respond(request.url?.split('?')[0] ?? '')
      if (body === undefined) response.writeHead(404).end()
      else response.writeHead(200, { 'content-type': 'application/json' }).end(body)
    })
  })
  return `http://127.0.0.1:${await listenLocally(server)}`
}

async function run(...commandLine: string[]) {
  const child = spawn(process.execPath, ['--import', 'tsx', program, ...commandLine])
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk) => (output.stdout += String(chunk)))
  child.stderr.on('data', (chunk) => (output.stderr += String(chunk)))
  const [status] = (await once(child, 'close')) as [number]
  return { status, ...output }
}

it('fails a server that accepts everything', async () => {
  const { status, stdout } = await run('--url', await contentServer(), '--api-key', 'any')
  expect(status).toBe(1)
  const [failed = ''] = /^Does differently:$[^]*?(?=^Lacks:$|^Not tested:$|^\d)/m.exec(stdout) ?? []
  expect(operationNames.filter((name) => !failed.includes(`\n${name}: `))).toEqual([])
})

it('runs to its end and tells what a server does differently from what it lacks', async () => {
  const { status, stdout } = await run('--url', await poorServer(), '--api-key', 'any')
  expect(status).toBe(1)
  expect(stdout).toContain('QueryTable is not implemented: status 404')
  expect(stdout).toContain('no end after 500 requests')
  expect(stdout).toMatch(
    /^Does differently:$[^]*^ListNamespaces: [^]*^Lacks:$[^]*^QueryTable: [^]*^Not tested:$/m,
  )
  // Every case of a commit needs a table, so nothing is known of commits.
  expect(stdout).toMatch(/^Lacks:$[^]*^CreateTable: a request succeeds$[^]*^Not tested:$/m)
  expect(stdout).toMatch(/^Not tested:$[^]*^CreateTableVersion: a request succeeds$/m)
  expect(stdout).toMatch(/^\d+ of \d+ cases passed$/m)
})

it('fails without a server or without a URL', async () => {
  const nobody = await run('--url', 'http://127.0.0.1:9')
  expect([nobody.status, nobody.stdout]).toEqual([1, ''])
  for (const commandLine of [[], ['--url', 'nonsense']]) {
    const { status, stderr } = await run(...commandLine)
    expect([status, stderr.slice(0, 6)]).toEqual([2, 'usage:'])
  }
})
