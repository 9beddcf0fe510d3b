import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { stringify } from 'yaml'
import { resolveTimeMs } from '../src/policy/source/policy-folder.ts'
import { formatPolicies, type WrittenPolicy } from '../test/policy/policy-builder.ts'
import type { LoadTimes } from './load-policies-once.ts'

/**
 * Minimum and median of the time to load a folder of policies, in milliseconds: `start` in a fresh process, as when the
 * gateway starts; `reload` in a process that has loaded it before.
 */
interface LoadTime {
  readonly rules: number
  readonly files: number
  readonly style: 'YAML' | 'JSON'
  readonly start: string
  readonly 'of the processor': string
  readonly read: string
  readonly parse: string
  readonly compile: string
  readonly reload: string
  /** Parsing again without changes. */
  readonly 'parse unchanged': string
}

const processes = 3
const rounds = 3
const program = fileURLToPath(new URL('load-policies-once.ts', import.meta.url))

/** Loads the policies from a single file and from one file per policy. */
export async function loadTimes(
  rules: number,
  policies: readonly WrittenPolicy[],
): Promise<readonly LoadTime[]> {
  const yaml = policies.map((policy) => stringify(JSON.parse(formatPolicies([policy]))))
  const json = policies.map((policy) => `${formatPolicies([policy])}\n`)
  return [
    await loadTime(rules, 'YAML', [yaml.join('---\n')]),
    await loadTime(rules, 'YAML', yaml),
    await loadTime(rules, 'JSON', [json.join('---\n')]),
    await loadTime(rules, 'JSON', json),
  ]
}

async function loadTime(
  rules: number,
  style: LoadTime['style'],
  texts: readonly string[],
): Promise<LoadTime> {
  const folder = await mkdtemp(join(tmpdir(), 'policy-load-'))
  try {
    for (const [index, text] of texts.entries()) await writeFile(join(folder, `${index}.yaml`), text)
    await sleep(2 * resolveTimeMs)
    const first: LoadTimes[] = []
    const later: LoadTimes[] = []
    for (let index = 0; index < processes; index++) {
      const [start, ...reloads] = await loadElsewhere(folder)
      if (start !== undefined) first.push(start)
      later.push(...reloads)
    }
    return {
      rules,
      files: texts.length,
      style,
      start: shown(first.map(total)),
      'of the processor': shown(first.map(({ cpu }) => cpu)),
      read: shown(first.map(({ read }) => read)),
      parse: shown(first.map(({ parse }) => parse)),
      compile: shown(first.map(({ compile }) => compile)),
      reload: shown(later.map(total)),
      'parse unchanged': shown(later.map(({ again }) => again)),
    }
  } finally {
    await rm(folder, { recursive: true })
  }
}

function total({ read, parse, compile }: LoadTimes): number {
  return read + parse + compile
}

function shown(times: readonly number[]): string {
  const sorted = times.toSorted((one, other) => one - other)
  return [0, Math.floor(sorted.length / 2)].map((location) => sorted[location]?.toFixed(0)).join(', ')
}

/** Loads the folder several times in a process of its own. */
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
