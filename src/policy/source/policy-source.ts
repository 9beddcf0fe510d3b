import { type FollowedFiles, followFiles, runAtOnce, runInSlices } from '../../lib/index.ts'
import type { ReportConditionFailure } from '../engine/compiled-rule.ts'
import { type PolicyDocument, PolicyError } from '../language/policy-document.ts'
import { builtInVocabulary, type PolicyVocabulary } from '../language/policy-vocabulary.ts'
import type { PolicySet } from '../policy-set.ts'
import { assertAnyPolicy, assertDocuments, collectDocuments } from './document-problems.ts'
import { compileDocuments, createTextParser, withShadow, type ShadowDifference } from './load-policies.ts'
import {
  createFileError,
  listPolicyFiles,
  namePolicyFolders,
  readPolicyFolder,
  stampFiles,
  type PolicyFolder,
} from './policy-folder.ts'

/**
 * Opens a source of policy documents: a folder, a Kubernetes cluster. A source watches its documents until it is closed,
 * and calls `observer.load` at least once before the promise resolves. Throws PolicyError if the first read fails.
 */
export type OpenDocumentSource = (observer: DocumentObserver) => Promise<{ close(): void }>

/** Receives the documents of a source. Each source has its own, so an error in one source holds back no other. */
export interface DocumentObserver {
  /**
   * Replaces all documents of the source, those with `mode: shadow` included. Resolves when they are in force; rejects
   * if they cannot be, and then the previous ones stay.
   */
  load(documents: readonly PolicyDocument[]): Promise<void>
  /** The documents cannot be read; the previous ones stay in force. */
  fail(error: PolicyError): void
}

/**
 * Sources in the order in which their rules decide: folders by path, whose documents are one tree, with unique names and
 * tags of all of them; AccessPolicy resources, which were reviewed one by one, without a key.
 */
export type PolicySources = ReadonlyMap<string | undefined, OpenDocumentSource>

/** The callbacks must not throw. */
export interface PolicySourceOptions {
  readonly onConditionFailure?: ReportConditionFailure
  /** Called once for each decided authorization request whose decision policies with `mode: shadow` would change. */
  readonly onShadowDifference?: (difference: ShadowDifference) => void
  /** Called for each change after the start. */
  readonly onChange?: (change: PolicyChange) => void
}

interface PolicyChange {
  /** Why it did not come into force: the previous documents of its source stay. Undefined if it did. */
  readonly error: PolicyError | undefined
  /** In force now. */
  readonly set: PolicySet
  /** The folder that changed; undefined for resources. */
  readonly folder: string | undefined
  /** Whether the last change of a source could not be loaded. */
  readonly hasError: boolean
}

/** The policies in force, reloaded on change until closed. */
export type PolicySource = Awaited<ReturnType<typeof combineSources>>

/**
 * Compiles the documents of all sources into one set. A change of a source takes effect completely or not at all, and
 * depends on the others only by names and tags. Throws PolicyError if a source cannot be opened.
 */
export async function combineSources(
  openers: PolicySources,
  { onConditionFailure, onShadowDifference = () => undefined, onChange }: PolicySourceOptions = {},
) {
  const sources: { close(): void }[] = []
  let documents: ReadonlyMap<string | undefined, readonly PolicyDocument[]> = new Map()
  let current: PolicySet | undefined
  const failing = new Map<string | undefined, PolicyError>()
  let isClosed = false

  function* compile(next: typeof documents) {
    const ofFolders = [...next].flatMap(([folder, found]) => (folder === undefined ? [] : found))
    yield* assertDocuments(ofFolders)
    const all = [...next.values()].flat()
    const { set, withShadowPolicies } = yield* compileDocuments(all, onConditionFailure)
    return set === withShadowPolicies ? set : withShadow(set, withShadowPolicies, onShadowDifference)
  }

  function report(folder: string | undefined, set: PolicySet): void {
    onChange?.({ error: failing.get(folder), set, folder, hasError: failing.size > 0 })
  }

  async function replace(folder: string | undefined, replacement: readonly PolicyDocument[]): Promise<void> {
    const next = new Map(documents).set(folder, replacement)
    const set = current && (await runInSlices(compile(next)))
    if (isClosed) return
    documents = next
    failing.delete(folder)
    if (set === undefined) return
    current = set
    report(folder, set)
  }

  // One after the other, so that no replacement loses another.
  let lastReplacement = Promise.resolve()
  function observe(folder: string | undefined): DocumentObserver {
    return {
      load(replacement) {
        const replaced = lastReplacement.then(() => replace(folder, replacement))
        lastReplacement = replaced.catch(() => undefined)
        return replaced
      },
      fail(error) {
        if (isClosed) return
        failing.set(folder, error)
        if (current !== undefined) report(folder, current)
      },
    }
  }

  function close(): void {
    isClosed = true
    for (const source of sources) source.close()
  }

  try {
    for (const [folder, open] of openers) sources.push(await open(observe(folder)))
    const set = runAtOnce(compile(documents))
    current = set
    for (const folder of failing.keys()) report(folder, set)
    return {
      /** Read it once per request, so that one set decides the whole request. */
      current: (): PolicySet => current ?? set,
      /** Returns the folders whose last change could not be loaded. */
      listFailingFolders: (): readonly string[] => [...failing.keys()].flatMap((folder) => folder ?? []),
      close,
    }
  } catch (error) {
    close()
    throw error
  }
}

const pollIntervalMs = 2000

/** Returns sources by path. Each of several must have a policy when it is opened: a mount of denies may be missing. */
export function watchFolders(
  paths: readonly string[],
  vocabulary = builtInVocabulary,
): ReadonlyMap<string, ReturnType<typeof watchFolder>> {
  const folders = namePolicyFolders(paths)
  return new Map(
    folders.map((folder) => [folder.path, watchFolder(folder, vocabulary, folders.length === 1)]),
  )
}

function watchFolder(folder: PolicyFolder, vocabulary: PolicyVocabulary, mayBeEmpty: boolean) {
  const { path } = folder
  const parse = createTextParser(vocabulary)
  /** Whether no policy of the last load is in force; undefined before the first one. */
  let wasEmpty: boolean | undefined

  return (observer: DocumentObserver): Promise<FollowedFiles<void>> =>
    followFiles({
      stamp: () => listPolicyFiles(folder).then(stampFiles, String),
      async read() {
        const documents = collectDocuments(await runInSlices(parse(await readPolicyFolder(folder))))
        const isEmpty = documents.every(({ isShadow }) => isShadow)
        if (wasEmpty === undefined && !mayBeEmpty) assertAnyPolicy(path, documents.length)
        // More likely a broken mount than the intent to remove all policies.
        if (wasEmpty === false && isEmpty)
          throw createFileError(
            path,
            'no longer contains a policy in force; to remove all, keep a policy without rules',
          )
        await observer.load(documents)
        wasEmpty = isEmpty
      },
      intervalMs: pollIntervalMs,
      onError: (cause) =>
        observer.fail(cause instanceof PolicyError ? cause : createFileError(path, String(cause))),
    })
}
