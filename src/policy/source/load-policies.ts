import { runAtOnce } from '../../lib/async/run-in-slices.ts'
import type { ParsedPolicies } from '../language/parse-policies.ts'
import type { PolicyDocument } from '../language/policy-document.ts'
import { builtInVocabulary, type PolicyVocabulary } from '../language/policy-vocabulary.ts'
import { compilePolicies, type PolicySet } from '../policy-set.ts'
import { compileDocuments, isEnforced } from './compile-documents.ts'
import { assertDocuments, collectDocuments } from './document-problems.ts'
import { parsePolicyFile } from './parse-policy-files.ts'
import { namePolicyFolders, readPolicyFolder } from './policy-folder.ts'

export interface LoadedPolicies extends Pick<ParsedPolicies, 'tests'> {
  /** Documents in force, without those with `mode: shadow`. */
  readonly documents: readonly PolicyDocument[]
  readonly set: PolicySet
  /** With policies with `mode: shadow` in force too. */
  readonly withShadowPolicies: Pick<LoadedPolicies, 'documents' | 'set'>
}

/** The policies of one or several sources, not compiled yet. */
export interface PolicyContents extends Pick<ParsedPolicies, 'tests'> {
  /** Those with `mode: shadow` included. */
  readonly documents: readonly PolicyDocument[]
}

/** Reads the policies of folders, which are one tree. Throws PolicyError with every error in every file. */
export async function readPolicies(
  folders: readonly string[],
  vocabulary: PolicyVocabulary,
): Promise<PolicyContents> {
  const files: ParsedPolicies[] = []
  for (const folder of namePolicyFolders(folders)) {
    const texts = await readPolicyFolder(folder)
    files.push(...texts.map((file) => parsePolicyFile(file, vocabulary)))
  }
  const documents = collectDocuments(files)
  runAtOnce(assertDocuments(documents))
  return { documents, tests: files.flatMap(({ tests }) => tests) }
}

/** Compiles documents with unique names. */
export function compileContents({ documents, tests }: PolicyContents): LoadedPolicies {
  const set = runAtOnce(compileDocuments(documents, {}))
  const enforced = documents.filter(isEnforced)
  const withShadows = enforced.length === documents.length ? set : compilePolicies(documents)
  return { documents: enforced, tests, set, withShadowPolicies: { documents, set: withShadows } }
}

/** Loads the policies of folders with their documents and tests. Throws PolicyError with every error in every file. */
export async function loadPolicies(
  folders: readonly string[],
  vocabulary = builtInVocabulary,
): Promise<LoadedPolicies> {
  return compileContents(await readPolicies(folders, vocabulary))
}
