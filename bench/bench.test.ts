import { spawn, spawnSync } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { isProvided } from '../test/support/requirements.ts'
import { companions } from './companions.ts'
import { fetchNode } from './fetched-programs.ts'
import { readOptions, usage } from './options.ts'
import { peers } from './peers.ts'
import { workloads } from './workloads.ts'

const program = fileURLToPath(new URL('main.ts', import.meta.url))
const hasNode = await fetchNode(24).then(
  () => true,
  () => false,
)
const canRun = isProvided('wrk', () => hasNode && spawnSync('wrk', ['-v']).error === undefined)

async function bench(parameters: readonly string[]) {
  const child = spawn(process.execPath, ['--import', import.meta.resolve('tsx'), program, ...parameters])
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const [output, messages, status] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  return { output, messages, status }
}

it.runIf(canRun)('measures the gateway after it has verified it', { timeout: 300_000 }, async () => {
  const only = ['--quick', '--only', 'key,refusals,upload,beside-downloads', '--servers', 'gateway-24']
  const { output, messages, status } = await bench(only)
  expect(messages).toMatch(/^gateway-24 .* on Node 24\.\d+\.\d+: verified$/m)
  for (const row of ['small call with a key', 'refused by its path', 'upload of 64 MiB', 'p99', 'memory']) {
    const figure = new RegExp(`^\\|.*${row}.*\\|\\W*([0-9.]+)\\W*\\|$`, 'm').exec(output)?.[1]
    expect(Number(figure), output).toBeGreaterThan(0)
  }
  expect(output).toContain('\nskipped:\n\nnone\n')
  expect(status).toBe(0)
})

it('lists all requests, parts and servers in its usage', () => {
  for (const { name } of [...workloads, ...companions, ...peers]) {
    expect(usage).toMatch(new RegExp(`[ ,]${name}[,;\\n]`))
  }
})

it('prints its usage for invalid options', () => {
  expect(() => readOptions(['--only', 'nonsense'])).toThrow(
    /^--only names "nonsense"; expected some of key, token, /,
  )
  expect(() => readOptions(['--rounds', '0'])).toThrow('--rounds is "0"; expected a whole number above 0')
  for (const some of [['--only', 'refusals'], ['--quick'], ['--servers', 'envoy']]) {
    expect(() => readOptions(['--write', ...some])).toThrow('expected neither --servers nor --quick')
  }
})
