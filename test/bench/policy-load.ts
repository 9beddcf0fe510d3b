import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { stringify } from 'yaml'
import { settlingMs } from '../../src/policy/policy-files.ts'
import { textOf, type WrittenPolicy } from '../policy/written-policy.ts'
import type { LoadTimes } from './load-policies-once.ts'

/** What it takes until a folder of policies can decide, in milliseconds: in a fresh process, and the least of some. */
interface LoadTime {
  readonly files: number
  readonly style: 'YAML' | 'JSON'
  readonly read: string
  readonly parse: string
  readonly compile: string
  readonly 'parse and compile': string
  /** Parsing once more, when nothing changed. */
  readonly 'parse unchanged': string
}

const processes = 5
const rounds = 5
const program = fileURLToPath(new URL('load-policies-once.ts', import.meta.url))

/** Loads the policies from one file and from a file for each. */
export async function loadTimes(policies: readonly WrittenPolicy[]): Promise<readonly LoadTime[]> {
  const yaml = policies.map((policy) => stringify(JSON.parse(textOf([policy]))))
  const json = policies.map((policy) => `${textOf([policy])}\n`)
  return [
    await loadTime('YAML', [yaml.join('---\n')]),
    await loadTime('YAML', yaml),
    await loadTime('JSON', [json.join('---\n')]),
    await loadTime('JSON', json),
  ]
}

async function loadTime(style: LoadTime['style'], texts: readonly string[]): Promise<LoadTime> {
  const folder = await mkdtemp(join(tmpdir(), 'policy-load-'))
  try {
    for (const [index, text] of texts.entries()) await writeFile(join(folder, `${index}.yaml`), text)
    await sleep(2 * settlingMs)
    const first: LoadTimes[] = []
    const all: LoadTimes[] = []
    for (let index = 0; index < processes; index++) {
      const times = await loadElsewhere(folder)
      first.push(...times.slice(0, 1))
      all.push(...times)
    }
    const shown = (timeOf: (times: LoadTimes) => number): string =>
      [first, all].map((times) => Math.min(...times.map(timeOf)).toFixed(0)).join(', ')
    return {
      files: texts.length,
      style,
      read: shown(({ read }) => read),
      parse: shown(({ parse }) => parse),
      compile: shown(({ compile }) => compile),
      'parse and compile': shown(({ parse, compile }) => parse + compile),
      'parse unchanged': shown(({ again }) => again),
    }
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Loads the folder a few times over in a process of its own. */
async function loadElsewhere(folder: string): Promise<readonly LoadTimes[]> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--import',
    'tsx',
    program,
    folder,
    String(rounds),
  ])
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as LoadTimes)
}
