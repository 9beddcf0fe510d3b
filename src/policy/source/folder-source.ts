import { runAtOnce, runInSlices } from '../../lib/async/run-in-slices.ts'
import { pollFiles, type FilePolling } from '../../lib/fs/follow-files.ts'
import { builtInVocabulary, type PolicyVocabulary } from '../language/policy-vocabulary.ts'
import { PolicyError } from '../language/policy-error.ts'
import { isEnforced } from './compile-documents.ts'
import { assertAnyPolicy, collectDocuments } from './document-problems.ts'
import { createFileParser } from './parse-policy-files.ts'
import { namePolicyFolders, readPolicyFolder, stampPolicyFolder, type PolicyFolder } from './policy-folder.ts'
import type { DocumentObserver } from './policy-source.ts'

const intervalMs = 2000

/**
 * Returns the sources of folders by path. Each of several must have a policy when it is opened: a mount of denies may be
 * missing.
 */
export function watchFolders(
  paths: readonly string[],
  vocabulary = builtInVocabulary,
): ReadonlyMap<string, (observer: DocumentObserver) => Promise<FilePolling>> {
  const folders = namePolicyFolders(paths)
  return new Map(
    folders.map((folder) => [
      folder.path,
      (observer) => watchFolder(folder, vocabulary, folders.length === 1, observer),
    ]),
  )
}

/**
 * Loads the policies of a folder and reloads them when they change, completely or not at all. An error is reported once,
 * and again on each `reloadFiles`. Polls, because file system events get lost when files are replaced or Kubernetes swaps
 * the link above them.
 */
async function watchFolder(
  folder: PolicyFolder,
  vocabulary: PolicyVocabulary,
  mayBeEmpty: boolean,
  observer: DocumentObserver,
): Promise<FilePolling> {
  const parse = createFileParser(vocabulary)
  const first = await readPolicyFolder(folder)
  // Parsed synchronously: nothing uses the event loop before the first policies are in force.
  const documents = collectDocuments(runAtOnce(parse(first.files)))
  if (!mayBeEmpty) assertAnyPolicy(folder.path, documents.length)
  await observer.load(documents)
  let isEmpty = !documents.some(isEnforced)
  // Undefined if the last poll failed, so that the next one reads again.
  let loadedStamp: string | undefined = first.stamp
  let lastError: string | undefined

  async function poll(isForced: boolean): Promise<void> {
    const before = loadedStamp
    loadedStamp = undefined
    if (!isForced && before === (await stampPolicyFolder(folder))) {
      loadedStamp = before
      return
    }
    const { stamp, files } = await readPolicyFolder(folder)
    const documents = collectDocuments(await runInSlices(parse(files)))
    const isEmptyNow = !documents.some(isEnforced)
    if (isEmptyNow && !isEmpty) throw new PolicyError([{ file: folder.path, message: emptiedMessage }])
    if (polling.isClosed) return
    await observer.load(documents, isForced)
    loadedStamp = stamp
    isEmpty = isEmptyNow
    lastError = undefined
  }

  function reportError(cause: unknown, isForced: boolean): void {
    const error =
      cause instanceof PolicyError ? cause : new PolicyError([{ file: folder.path, message: String(cause) }])
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

/** An emptied folder is more likely a broken mount than the intent to remove all policies. */
const emptiedMessage = 'no longer contains a policy in force; to remove all, keep a policy without rules'
