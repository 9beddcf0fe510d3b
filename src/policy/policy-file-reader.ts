import { parsePolicies, type ParsedPolicies } from './documents.ts'
import type { PolicyText } from './policy-place.ts'

/** Reads the policies of these files, with every fault in them. */
export type PolicyFileReader = (files: readonly PolicyText[]) => readonly ParsedPolicies[]

interface ReadFile {
  readonly text: string
  readonly parsed: ParsedPolicies
}

/**
 * A reader that parses a file again only when its text is another than the last time: parsing takes most of the time
 * of a reload, and a change is mostly in one file of many. It keeps the texts of the files that it read last.
 */
export function policyFileReader(): PolicyFileReader {
  let before: ReadonlyMap<string, ReadFile> = new Map()
  return (files) => {
    const read = new Map(files.map((file) => [file.name, readPolicyFile(file, before.get(file.name))]))
    before = read
    return [...read.values()].map(({ parsed }) => parsed)
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true })

function readPolicyFile({ name, bytes }: PolicyText, before: ReadFile | undefined): ReadFile {
  let text: string
  try {
    text = decoder.decode(bytes)
  } catch {
    const problems = [{ file: name, message: 'is not valid UTF-8' }]
    return { text: '', parsed: { documents: [], tests: [], problems } }
  }
  return before?.text === text && before.parsed.problems.length === 0
    ? before
    : { text, parsed: parsePolicies(text, name) }
}
