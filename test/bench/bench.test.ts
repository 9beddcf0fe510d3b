import { spawn, spawnSync } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { isThorough } from '../support/thorough.ts'
import { readOptions } from './options.ts'

const program = fileURLToPath(new URL('main.ts', import.meta.url))
const hasWrk = process.platform === 'linux' && spawnSync('wrk', ['-v']).error === undefined
if (!hasWrk || !isThorough) {
  console.warn('SKIPPED: a run of the bench, which needs wrk and is part of npm run test:thorough.')
}

async function bench(parameters: readonly string[]) {
  const child = spawn(process.execPath, ['--import', import.meta.resolve('tsx'), program, ...parameters])
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const [output, messages, status] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  return { output, messages, status }
}

it.runIf(isThorough && hasWrk)(
  'measures what is there, after its bytes were found to be exact',
  { timeout: 120_000 },
  async () => {
    const only = [
      '--only',
      'small-read',
      '--peers',
      'http-proxy',
      '--rounds',
      '1',
      '--seconds',
      '1',
      '--cold',
    ]
    const { output, messages, status } = await bench(only)
    expect(messages).toMatch(/^http-proxy .*: its bytes are exact, and it refuses who may not call$/m)
    for (const server of ['direct', 'http-proxy']) {
      const cells = new RegExp(`^\\| ${server} \\|(.*)\\|$`, 'm').exec(output)?.[1]?.split('|')
      expect(Number(cells?.[0]?.replaceAll(',', '')), output).toBeGreaterThan(0)
    }
    expect(status).toBe(0)
  },
)

it('prints its usage for invalid options', () => {
  expect(() => readOptions(['--only', 'nonsense'])).toThrow(
    /^--only names "nonsense"; expected some of small-read, /,
  )
  expect(() => readOptions(['--rounds', '0'])).toThrow('--rounds is "0"; expected a whole number above 0')
  for (const some of [['--only', 'refusals'], ['--quick']]) {
    expect(() => readOptions(['--write', ...some])).toThrow('expected neither --only nor --quick with it')
  }
})
