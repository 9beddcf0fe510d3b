import { createHash } from 'node:crypto'
import { runInSlices, type Steps } from '../../lib/async/run-in-slices.ts'
import { parseInThread, type ParsedFile } from './parse-in-thread.ts'
import { parsePolicyFile } from './parse-policy-file.ts'
import type { PolicyVocabulary } from '../language/policy-vocabulary.ts'
import type { PolicyText } from './policy-location.ts'

/** Parses policy files and caches the result of unchanged files. */
export interface PolicyFileReader {
  read(files: readonly PolicyText[]): readonly ParsedFile[]
  readInBackground(files: readonly PolicyText[]): Promise<readonly ParsedFile[]>
}

/** The cache holds the files of the last read only. */
export function createPolicyFileReader(vocabulary: PolicyVocabulary): PolicyFileReader {
  let retained: ReadonlyMap<string, ParsedFile> = new Map()

  function retain(keys: readonly string[], parsed: ReadonlyMap<string, ParsedFile>): readonly ParsedFile[] {
    const files = keys.map((key) => retained.get(key) ?? parsed.get(key) ?? nothing)
    retained = new Map(keys.map((key, index) => [key, files[index] ?? nothing]))
    return files
  }

  return {
    read(files) {
      const parsed = new Map<string, ParsedFile>()
      const keys = files.map(keyOf)
      for (const [index, file] of files.entries()) {
        const key = keys[index] ?? ''
        if (!retained.has(key)) parsed.set(key, parsePolicyFile(file, vocabulary))
      }
      return retain(keys, parsed)
    },
    async readInBackground(files) {
      const keys = await runInSlices(keysOf(files))
      const changed = [...files.entries()].filter(([index]) => !retained.has(keys[index] ?? ''))
      const parsed =
        changed.length === 0
          ? []
          : await parseInThread(
              changed.map(([, file]) => file),
              vocabulary,
            )
      return retain(
        keys,
        new Map(changed.map(([index], position) => [keys[index] ?? '', parsed[position] ?? nothing])),
      )
    },
  }
}

const nothing: ParsedFile = { documents: [], problems: [] }

function* keysOf(files: readonly PolicyText[]): Steps<readonly string[]> {
  const keys: string[] = []
  for (const file of files) {
    keys.push(keyOf(file))
    yield
  }
  return keys
}

/** Includes the name, because policies and errors refer to it. */
function keyOf({ name, bytes }: PolicyText): string {
  return `${name}\0${createHash('sha256').update(bytes).digest('hex')}`
}
