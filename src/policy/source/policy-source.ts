import { runAtOnce, runInSlices } from '../../lib/async/run-in-slices.ts'
import type { PolicyDocument } from '../language/policy-document.ts'
import { builtInVocabulary, type PolicyVocabulary } from '../language/policy-vocabulary.ts'
import type { PolicyError } from '../language/policy-error.ts'
import type { PolicySet } from '../policy-set.ts'
import { compileDocuments, isEnforced, type CompileOptions } from './compile-documents.ts'
import type { DocumentObserver, DocumentSource, OpenDocumentSource } from './document-source.ts'
import type { PolicyLocation } from './policy-location.ts'
import { watchLocation, type WatchLocationOptions } from './watch-location.ts'

/** The callbacks must not throw. */
export interface PolicySourceOptions extends CompileOptions {
  /**
   * Called when a changed set takes effect, and also with an unchanged set after an error or `reloadFiles`. `hasError`
   * is true while the last change of another source could not be loaded.
   */
  readonly onReload?: (set: PolicySet, hasError: boolean) => void
  /** The last change of a source cannot be loaded: its previous documents stay in force, in the set `current`. */
  readonly onError?: (error: PolicyError, current: PolicySet) => void
  /** Called with the documents in force, initially and after each reload; `hasError` as in `onReload`. */
  readonly onDocuments?: (documents: readonly PolicyDocument[], hasError: boolean) => void
}

/** The policies in force, reloaded on change until closed. */
export interface PolicySource {
  /** Read it once per request, so that one set decides the whole request. */
  current(): PolicySet
  close(): void
}

/**
 * Compiles the documents of all sources into one set, in the order of the sources. A change of a source takes effect
 * completely or not at all. Throws PolicyError if a source cannot be opened.
 */
export async function combineSources(
  openers: readonly OpenDocumentSource[],
  options: PolicySourceOptions = {},
): Promise<PolicySource> {
  let documents: readonly (readonly PolicyDocument[])[] = openers.map(() => [])
  let current: PolicySet | undefined
  const failing = new Set<number>()
  const errorsAtStart: PolicyError[] = []
  let isClosed = false

  async function replace(
    index: number,
    replacement: readonly PolicyDocument[],
    isForced: boolean,
  ): Promise<void> {
    const next = documents.with(index, replacement)
    if (current === undefined) {
      documents = next
      return
    }
    const set = await runInSlices(compileDocuments(next.flat(), options))
    if (isClosed) return
    const isReported = isForced || set.revision !== current.revision || failing.has(index)
    // Replaced even if the revision is equal: line numbers of rules may have changed.
    current = set
    documents = next
    failing.delete(index)
    options.onDocuments?.(next.flat().filter(isEnforced), failing.size > 0)
    if (isReported) options.onReload?.(set, failing.size > 0)
  }

  // One after the other, so that no replacement loses another.
  let lastReplacement = Promise.resolve()
  function observe(index: number): DocumentObserver {
    return {
      load(replacement, isForced = false) {
        const replaced = lastReplacement.then(() => replace(index, replacement, isForced))
        lastReplacement = replaced.catch(() => undefined)
        return replaced
      },
      fail(error) {
        if (isClosed) return
        failing.add(index)
        if (current === undefined) errorsAtStart.push(error)
        else options.onError?.(error, current)
      },
    }
  }

  const sources: DocumentSource[] = []
  try {
    for (const [index, open] of openers.entries()) sources.push(await open(observe(index)))
    const first = documents.flat()
    const set = (current = runAtOnce(compileDocuments(first, options)))
    options.onDocuments?.(first.filter(isEnforced), errorsAtStart.length > 0)
    for (const error of errorsAtStart) options.onError?.(error, set)
    return {
      current: () => current ?? set,
      close() {
        isClosed = true
        for (const source of sources) source.close()
      },
    }
  } catch (error) {
    for (const source of sources) source.close()
    throw error
  }
}

export interface WatchPoliciesOptions extends PolicySourceOptions {
  /** The operations that the policies may name; default: those of the catalog API. */
  readonly vocabulary?: PolicyVocabulary
  /** Poll interval; default 2000. */
  readonly intervalMs?: number
}

/** `combineSources` for a folder or bundle alone. */
export async function watchPolicies(
  location: PolicyLocation,
  options: WatchPoliciesOptions = {},
): Promise<PolicySource> {
  return combineSources([openLocation(location, options)], options)
}

/** A folder or bundle as one of several sources. */
export function openLocation(
  location: PolicyLocation,
  { vocabulary = builtInVocabulary, intervalMs = 2000, ...options }: Partial<WatchLocationOptions>,
): OpenDocumentSource {
  return (observer) => watchLocation(location, { vocabulary, intervalMs, ...options }, observer)
}
