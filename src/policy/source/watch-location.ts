import { pollFiles } from '../../lib/fs/poll-files.ts'
import type { PolicyDocument } from '../language/policy-document.ts'
import { PolicyError } from '../language/policy-error.ts'
import type { PolicyVocabulary } from '../language/policy-vocabulary.ts'
import { assertTags } from './assert-tags.ts'
import { assertNotCut, listRestrictiveFiles } from './assert-not-cut.ts'
import { isEnforced, mergeFiles } from './compile-documents.ts'
import type { DocumentObserver, DocumentSource } from './document-source.ts'
import type { LastGoodPolicies } from './last-good/last-good-policies.ts'
import { createPolicyFileReader } from './policy-file-reader.ts'
import type { PolicyLocation } from './policy-location.ts'

export interface WatchLocationOptions {
  readonly vocabulary: PolicyVocabulary
  /** Poll interval. */
  readonly intervalMs: number
  /** Checks and changes the documents of each read; throws PolicyError. Default: `assertTags`. */
  readonly adapt?: (documents: readonly PolicyDocument[]) => readonly PolicyDocument[]
  /** Whether the documents may vanish; otherwise the last ones then stay in force. */
  readonly mayBeEmptied?: boolean
  /** Keeps the policies for a start at which they do not compile; without it, such a start fails. */
  readonly lastGood?: LastGoodPolicies | undefined
}

/**
 * Loads the policies of a folder or bundle and reloads them when they change, completely or not at all. An error is
 * reported once, and again on each `reloadFiles`. Polls, because file system events get lost when files are replaced or
 * Kubernetes swaps the link above them.
 */
export async function watchLocation(
  location: PolicyLocation,
  { vocabulary, intervalMs, adapt = assertTags, mayBeEmptied = false, lastGood }: WatchLocationOptions,
  observer: DocumentObserver,
): Promise<DocumentSource> {
  const reader = createPolicyFileReader(vocabulary)
  const texts = await location.read()
  let error: PolicyError | undefined
  let first: readonly PolicyDocument[]
  try {
    // Parsed synchronously: nothing uses the event loop before the first policies are in force.
    first = adapt(mergeFiles(reader.read(texts.files)))
  } catch (cause) {
    if (lastGood === undefined || !(cause instanceof PolicyError)) throw cause
    first = await lastGood.restore(cause)
    error = cause
  }
  await observer.load(first)
  if (error === undefined) lastGood?.retain(texts.files, first)
  else observer.fail(error)
  let isEmpty = !first.some(isEnforced)
  let restrictive = error === undefined ? listRestrictiveFiles(texts.files, first) : []
  // Undefined if the last poll failed, so that the next one reads again.
  let loadedStamp = error === undefined ? texts.stamp : undefined
  let lastError = error?.message

  async function poll(isForced: boolean): Promise<void> {
    await lastGood?.expire(loadExpired)
    const before = loadedStamp
    loadedStamp = undefined
    if (!isForced && before === (await location.stamp())) {
      loadedStamp = before
      if (lastError === undefined) lastGood?.confirm()
      return
    }
    const { stamp, files } = await location.read()
    const documents = adapt(mergeFiles(await reader.readInBackground(files)))
    loadedStamp = stamp
    const isEmptyNow = !documents.some(isEnforced)
    if (isEmptyNow && !isEmpty && !mayBeEmptied)
      throw new PolicyError([{ file: location.name, message: emptiedMessage }])
    const restrictiveNow = listRestrictiveFiles(files, documents)
    assertNotCut(restrictive, restrictiveNow, files)
    if (polling.isClosed) return
    await observer.load(documents, isForced)
    lastGood?.retain(files, documents)
    isEmpty = isEmptyNow
    restrictive = restrictiveNow
    lastError = undefined
  }

  async function loadExpired(documents: readonly PolicyDocument[]): Promise<void> {
    await observer.load(documents)
    observer.fail(new PolicyError([{ file: location.name, message: expiredMessage }]))
  }

  function reportError(cause: unknown, isForced: boolean): void {
    const error =
      cause instanceof PolicyError
        ? cause
        : new PolicyError([{ file: location.name, message: String(cause) }])
    if (polling.isClosed || (error.message === lastError && !isForced)) return
    lastError = error.message
    observer.fail(error)
  }

  const polling = pollFiles(
    (isForced) => poll(isForced).catch((cause: unknown) => reportError(cause, isForced)),
    intervalMs,
  )
  return polling
}

const expiredMessage = 'does not compile, and the last good policies have expired: everything is denied'

/** An emptied folder is more likely a broken mount than the intent to deny everything. */
const emptiedMessage = 'no longer contains a policy in force; to deny everything, keep a policy without rules'
