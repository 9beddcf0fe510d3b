import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { parsePolicies, type ParsedPolicies } from './documents.ts'
import type { PolicyDocument } from './policy-document.ts'
import { PolicyError, type PolicyProblem } from './policy-error.ts'
import { listPolicyFiles, named, settlingMs, stampOf, type PolicyFile } from './policy-files.ts'
import { compilePolicies, type PolicySet } from './trie.ts'

/** How a folder of policies is watched. The callbacks must not throw. */
export interface WatchPoliciesOptions {
  /** How long to wait between two looks; 2000 unless told. */
  readonly intervalMs?: number
  /** Other policies are in force from now on, or the same after a fault was told. */
  readonly onReload?: (set: PolicySet) => void
  /** The policies cannot be used; those before stay in force. Told once for as long as the fault is the same. */
  readonly onError?: (error: PolicyError) => void
}

/** The policies in force, followed until closed. */
export interface PolicySource {
  /** The set in force; ask once per request, so that a request is decided by one set. */
  current(): PolicySet
  close(): void
}

/** Loads the policies of a folder. Throws PolicyError with every fault in every file. */
export async function loadPolicies(folder: string): Promise<PolicySet> {
  return compileFolder(await readFolder(folder))
}

/**
 * Loads the policies of a folder and follows its changes; all of a change takes effect at once or not at all.
 * Throws PolicyError if they cannot be used to begin with. It looks at the status of the files instead of waiting
 * for events, which get lost when files are replaced or Kubernetes swaps the link above them.
 */
export async function watchPolicies(
  folder: string,
  options: WatchPoliciesOptions = {},
): Promise<PolicySource> {
  const first = await readFolder(folder)
  let current = compileFolder(first)
  // Undefined where the last look could not read everything, so that the next one tries again.
  let seen: string | undefined = first.stamp
  let complaint: string | undefined
  let isClosed = false
  let timer: NodeJS.Timeout | undefined

  async function look(): Promise<void> {
    const before = seen
    seen = undefined
    if (before === stampOf(await listPolicyFiles(folder))) {
      seen = before
      return
    }
    const contents = await readFolder(folder)
    seen = contents.stamp
    const set = compileFolder(contents)
    if (isClosed) return
    const isNews = set.revision !== current.revision || complaint !== undefined
    // Also where it says the same: a rule may stand in another line now.
    current = set
    complaint = undefined
    if (isNews) options.onReload?.(set)
  }

  function complain(cause: unknown): void {
    const error =
      cause instanceof PolicyError ? cause : new PolicyError([{ file: folder, message: String(cause) }])
    if (isClosed || error.message === complaint) return
    complaint = error.message
    options.onError?.(error)
  }

  function lookLater(): void {
    if (isClosed) return
    timer = setTimeout(() => void look().catch(complain).finally(lookLater), options.intervalMs ?? 2000)
    timer.unref()
  }

  lookLater()
  return {
    current: () => current,
    close() {
      isClosed = true
      clearTimeout(timer)
    },
  }
}

interface FolderContents extends ParsedPolicies {
  readonly stamp: string
}

function compileFolder({ documents, problems }: FolderContents): PolicySet {
  const all = [...problems, ...repeatedNames(documents)]
  if (all.length > 0) throw new PolicyError(all)
  return compilePolicies(documents)
}

/**
 * Reads all files as they stood at one time: half of an old state and half of a new one may allow too much, and so
 * may a file that somebody is still writing.
 */
async function readFolder(folder: string): Promise<FolderContents> {
  for (let attempt = 1; attempt <= 5; attempt++) {
    const files = await listPolicyFiles(folder)
    if (!files.some(({ isJustChanged }) => isJustChanged)) {
      const parsed: ParsedPolicies[] = []
      for (const file of files) parsed.push(await readPolicyFile(file))
      const stamp = stampOf(files)
      if (stamp === stampOf(await listPolicyFiles(folder))) {
        return {
          stamp,
          documents: parsed.flatMap(({ documents }) => documents),
          problems: parsed.flatMap(({ problems }) => problems),
        }
      }
    }
    await sleep(settlingMs)
  }
  throw new PolicyError([{ file: folder, message: 'changes all the time while it is read' }])
}

async function readPolicyFile({ name, path }: PolicyFile): Promise<ParsedPolicies> {
  const bytes = await named(name, () => readFile(path))
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return { documents: [], problems: [{ file: name, message: 'is not valid UTF-8' }] }
  }
  return parsePolicies(text, name)
}

/** A decision names a policy by its name alone, so no two may share one. */
function repeatedNames(documents: readonly PolicyDocument[]): readonly PolicyProblem[] {
  const seen = new Map<string, PolicyDocument>()
  return documents.flatMap((document) => {
    const { name, file, line, column } = document
    const before = seen.get(name)
    if (before === undefined) seen.set(name, document)
    const message = `metadata.name: the policy in ${before?.file}:${before?.line} is "${name}" too`
    return before === undefined ? [] : [{ file, line, column, message }]
  })
}
