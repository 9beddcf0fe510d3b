import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { stringify } from 'yaml'
import { settlingMs } from '../../src/policy/policy-files.ts'
import { policyFileReader } from '../../src/policy/policy-file-reader.ts'
import { policyFolder } from '../../src/policy/policy-place.ts'
import { compilePolicies } from '../../src/policy/trie.ts'
import { textOf, type WrittenPolicy } from '../policy/written-policy.ts'

/** What it takes until a folder of policies can decide, in milliseconds: the first time, and the least of a few. */
interface LoadTime {
  readonly files: number
  readonly style: 'YAML' | 'JSON'
  readonly read: string
  readonly parse: string
  readonly compile: string
  /** Parsing once more, when nothing changed. */
  readonly 'parse unchanged': string
}

const rounds = 3

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
    const times: { read: number[]; parse: number[]; compile: number[]; again: number[] } = {
      read: [],
      parse: [],
      compile: [],
      again: [],
    }
    for (let round = 0; round < rounds; round++) {
      const readFiles = policyFileReader()
      const startedAt = performance.now()
      const { files } = await policyFolder(folder).read()
      const readAt = performance.now()
      const documents = readFiles(files).flatMap(({ documents }) => documents)
      const parsedAt = performance.now()
      compilePolicies(documents)
      const compiledAt = performance.now()
      readFiles(files)
      times.read.push(readAt - startedAt)
      times.parse.push(parsedAt - readAt)
      times.compile.push(compiledAt - parsedAt)
      times.again.push(performance.now() - compiledAt)
    }
    return {
      files: texts.length,
      style,
      read: firstAndLeast(times.read),
      parse: firstAndLeast(times.parse),
      compile: firstAndLeast(times.compile),
      'parse unchanged': firstAndLeast(times.again),
    }
  } finally {
    await rm(folder, { recursive: true })
  }
}

function firstAndLeast(times: readonly number[]): string {
  return `${times[0]?.toFixed(0)}, ${Math.min(...times).toFixed(0)}`
}
