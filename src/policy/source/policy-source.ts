import { runAtOnce, runInSlices } from '../../lib/async/run-in-slices.ts'
import type { PolicyDocument } from '../language/policy-document.ts'
import type { PolicyError } from '../language/policy-error.ts'
import type { PolicySet } from '../policy-set.ts'
import { compileDocuments, isEnforced, type CompileOptions } from './compile-documents.ts'
import { assertDocuments } from './document-problems.ts'

/**
 * Opens a source of policy documents: a folder, a Kubernetes cluster. A source watches its documents until it is closed,
 * and calls `observer.load` at least once before the promise resolves. Throws PolicyError if the first read fails.
 */
export type OpenDocumentSource = (observer: DocumentObserver) => Promise<DocumentSource>

interface DocumentSource {
  close(): void
}

/** Receives what a source reads. Each source has its own, so an error in one source holds back no other. */
export interface DocumentObserver {
  /**
   * Replaces all documents of the source, those with `mode: shadow` included. Resolves when they are in force; rejects
   * if they cannot be, and then the previous ones stay. `isForced` reports even an unchanged set as reloaded.
   */
  load(documents: readonly PolicyDocument[], isForced?: boolean): Promise<void>
  /** The documents cannot be read; the previous ones stay in force. */
  fail(error: PolicyError): void
}

/** Sources in the order in which their rules decide. */
export interface PolicySources {
  /** By path. Their documents are one tree: names are unique among them, and rules name tags of all of them. */
  readonly folders: ReadonlyMap<string, OpenDocumentSource>
  /** AccessPolicy resources, which were reviewed one by one. */
  readonly resources?: OpenDocumentSource | undefined
}

/** A change of policies that did or did not come into force. */
interface PolicyChange {
  /** In force now. */
  readonly set: PolicySet
  /** The folder that changed; undefined for resources. */
  readonly folder: string | undefined
  /** Whether the last change of a source could not be loaded. */
  readonly hasError: boolean
}

/** The callbacks must not throw. */
export interface PolicySourceOptions extends CompileOptions {
  /** Called when a changed set takes effect, and also with an unchanged set after an error or `reloadFiles`. */
  readonly onReload?: (change: PolicyChange) => void
  /** The last change of a source cannot be loaded: its previous documents stay in force. */
  readonly onError?: (error: PolicyError, change: PolicyChange) => void
  /** Called with the documents in force, initially and after each change. */
  readonly onDocuments?: (documents: readonly PolicyDocument[]) => void
}

/** The policies in force, reloaded on change until closed. */
export interface PolicySource {
  /** Read it once per request, so that one set decides the whole request. */
  current(): PolicySet
  /** Returns the folders whose last change could not be loaded. */
  listFailingFolders(): readonly string[]
  close(): void
}

/**
 * Compiles the documents of all sources into one set. A change of a source takes effect completely or not at all, and
 * depends on the others only by names and tags. Throws PolicyError if a source cannot be opened.
 */
export async function combineSources(
  { folders, resources }: PolicySources,
  options: PolicySourceOptions = {},
): Promise<PolicySource> {
  const names = [...folders.keys()]
  const openers = [...folders.values(), ...(resources === undefined ? [] : [resources])]
  let documents: readonly (readonly PolicyDocument[])[] = openers.map(() => [])
  let current: PolicySet | undefined
  const failing = new Map<number, PolicyError>()
  let isClosed = false

  function* compile(next: typeof documents) {
    yield* assertDocuments(next.slice(0, names.length).flat())
    return yield* compileDocuments(next.flat(), options)
  }

  async function replace(
    index: number,
    replacement: readonly PolicyDocument[],
    isForced: boolean,
  ): Promise<void> {
    const next = documents.with(index, replacement)
    if (current === undefined) {
      documents = next
      failing.delete(index)
      return
    }
    const set = await runInSlices(compile(next))
    if (isClosed) return
    const isReported = failing.delete(index) || isForced || set.revision !== current.revision
    // Replaced even if the revision is equal: line numbers of rules may have changed.
    current = set
    documents = next
    options.onDocuments?.(next.flat().filter(isEnforced))
    if (isReported) options.onReload?.({ set, folder: names[index], hasError: failing.size > 0 })
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
        failing.set(index, error)
        if (current !== undefined)
          options.onError?.(error, { set: current, folder: names[index], hasError: true })
      },
    }
  }

  const sources: DocumentSource[] = []
  try {
    for (const [index, open] of openers.entries()) sources.push(await open(observe(index)))
    const set = (current = runAtOnce(compile(documents)))
    options.onDocuments?.(documents.flat().filter(isEnforced))
    for (const [index, error] of failing)
      options.onError?.(error, { set, folder: names[index], hasError: true })
    return {
      current: () => current ?? set,
      listFailingFolders: () => [...failing.keys()].flatMap((index) => names[index] ?? []),
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
