import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, it } from 'vitest'
import { operationNames } from '../../../src/catalog-api/operations.ts'

const program = fileURLToPath(new URL('../main.ts', import.meta.url))
const timeout = 120_000

async function contentServer(): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().once('end', () => {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"properties":{},"location":"x"}')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function run(...commandLine: string[]) {
  const child = spawn(process.execPath, ['--import', 'tsx', program, ...commandLine])
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk) => (output.stdout += String(chunk)))
  child.stderr.on('data', (chunk) => (output.stderr += String(chunk)))
  const [status] = (await once(child, 'close')) as [number]
  return { status, ...output }
}

it('fails every operation of a server that accepts everything', { timeout }, async () => {
  const { status, stdout } = await run('--url', await contentServer(), '--api-key', 'any')
  expect(status).toBe(1)
  const [heading, ...lines] = stdout.split('\n')
  expect(heading?.split(/ +/)).toEqual(['operation', 'cases', 'passed', 'failed', 'skipped'])
  expect(lines.slice(0, operationNames.length).map((line) => line.split(/ +/)[0])).toEqual(operationNames)
  for (const line of lines.slice(0, operationNames.length)) {
    expect(Number(line.split(/ +/)[3]), line).toBeGreaterThan(0)
  }
})

it('fails without a server or without a URL', async () => {
  const nobody = await run('--url', 'http://127.0.0.1:9')
  expect([nobody.status, nobody.stdout]).toEqual([1, ''])
  for (const commandLine of [[], ['--url', 'nonsense']]) {
    const { status, stderr } = await run(...commandLine)
    expect([status, stderr.slice(0, 6)]).toEqual([2, 'usage:'])
  }
})
