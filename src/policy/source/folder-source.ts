import { runInSlices } from '../../lib/async/run-in-slices.ts'
import { followFiles, type FollowedFiles } from '../../lib/fs/follow-files.ts'
import { builtInVocabulary, type PolicyVocabulary } from '../language/policy-vocabulary.ts'
import type { ParsedPolicies } from '../language/parse-policies.ts'
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
): ReadonlyMap<string, (observer: DocumentObserver) => Promise<FollowedFiles<void>>> {
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
 * and again on each `reloadFiles`.
 */
function watchFolder(
  folder: PolicyFolder,
  vocabulary: PolicyVocabulary,
  mayBeEmpty: boolean,
  observer: DocumentObserver,
): Promise<FollowedFiles<void>> {
  const parser = createFileParser(vocabulary)
  /** Whether no policy of the last load is in force; undefined before the first one. */
  let wasEmpty: boolean | undefined

  return followFiles({
    stamp: () => stampPolicyFolder(folder).catch(String),
    async read() {
      const files: ParsedPolicies[] = []
      for (const file of await readPolicyFolder(folder)) files.push(await runInSlices(parser.parse(file)))
      parser.endRound()
      const documents = collectDocuments(files)
      const isEmpty = !documents.some(isEnforced)
      if (wasEmpty === undefined && !mayBeEmpty) assertAnyPolicy(folder.path, documents.length)
      if (wasEmpty === false && isEmpty)
        throw new PolicyError([{ file: folder.path, message: emptiedMessage }])
      await observer.load(documents)
      wasEmpty = isEmpty
    },
    intervalMs,
    onError: (cause) =>
      observer.fail(
        cause instanceof PolicyError
          ? cause
          : new PolicyError([{ file: folder.path, message: String(cause) }]),
      ),
  })
}

/** An emptied folder is more likely a broken mount than the intent to remove all policies. */
const emptiedMessage = 'no longer contains a policy in force; to remove all, keep a policy without rules'
