import { runAtOnce } from '../../lib/async/run-in-slices.ts'
import type { ParsedPolicies } from '../language/parse-policies.ts'
import type { PolicyDocument } from '../language/policy-document.ts'
import { PolicyError } from '../language/policy-error.ts'
import { builtInVocabulary, type PolicyVocabulary } from '../language/policy-vocabulary.ts'
import { compilePolicies, type PolicySet } from '../policy-set.ts'
import { assertTags } from './assert-tags.ts'
import { compileDocuments, isEnforced, mergeFiles } from './compile-documents.ts'
import { parsePolicyFile } from './parse-policy-file.ts'
import { createFolderLocation, type PolicyLocation, type PolicyText } from './policy-location.ts'

export interface LoadedPolicies extends Pick<ParsedPolicies, 'tests'> {
  /** Documents in force, without those with `mode: shadow`. */
  readonly documents: readonly PolicyDocument[]
  readonly set: PolicySet
  /** With policies with `mode: shadow` in force too. */
  readonly withShadowPolicies: Pick<LoadedPolicies, 'documents' | 'set'>
}

/** Throws PolicyError if `count` is 0: a wrong path is more likely than the intent to deny everything. */
export function assertAnyPolicy(location: string, count: number): void {
  if (count > 0) return
  const message = 'contains no policy in .yaml or .yml files; to deny everything, keep a policy without rules'
  throw new PolicyError([{ file: location, message }])
}

/** Loads the policies of a folder. Throws PolicyError with every error in every file. */
export async function loadPolicies(folder: string): Promise<PolicySet> {
  return loadPoliciesFrom(createFolderLocation(folder))
}

export async function loadPoliciesFrom(
  location: PolicyLocation,
  vocabulary = builtInVocabulary,
): Promise<PolicySet> {
  return compilePolicyTexts((await location.read()).files, vocabulary)
}

/** Compiles policy files. Throws PolicyError with every error in every file. */
export function compilePolicyTexts(files: readonly PolicyText[], vocabulary = builtInVocabulary): PolicySet {
  const parsed = files.map((file) => parsePolicyFile(file, vocabulary))
  return runAtOnce(compileDocuments(assertTags(mergeFiles(parsed)), {}))
}

/** The policies of one or several sources, not compiled yet. */
export interface PolicyContents extends Pick<ParsedPolicies, 'tests'> {
  /** Those with `mode: shadow` included. */
  readonly documents: readonly PolicyDocument[]
}

/** Reads policies. `adapt` checks and changes the documents of all files. Throws PolicyError with every error in every file. */
export async function readPolicies(
  location: PolicyLocation,
  vocabulary: PolicyVocabulary,
  adapt = assertTags,
): Promise<PolicyContents> {
  const texts = await location.read()
  const files = texts.files.map((file) => parsePolicyFile(file, vocabulary))
  return { documents: adapt(mergeFiles(files)), tests: files.flatMap((file) => file.tests) }
}

/** Reads the policies of a folder, see `readPolicies`. */
export function readPolicyFolder(folder: string, vocabulary: PolicyVocabulary): Promise<PolicyContents> {
  return readPolicies(createFolderLocation(folder), vocabulary)
}

/** Compiles documents with unique names. */
export function compileContents({ documents, tests }: PolicyContents): LoadedPolicies {
  const set = runAtOnce(compileDocuments(documents, {}))
  const enforced = documents.filter(isEnforced)
  const withShadows = enforced.length === documents.length ? set : compilePolicies(documents)
  return { documents: enforced, tests, set, withShadowPolicies: { documents, set: withShadows } }
}

/** Loads the policies of a folder with their documents and tests. Throws PolicyError with every error in every file. */
export async function loadPolicyFolder(
  folder: string,
  vocabulary = builtInVocabulary,
): Promise<LoadedPolicies> {
  return compileContents(await readPolicyFolder(folder, vocabulary))
}
