import { runAtOnce } from '../../lib/async/run-in-slices.ts'
import type { ParsedPolicies } from '../language/parse-policies.ts'
import type { PolicyDocument } from '../language/policy-document.ts'
import { PolicyError } from '../language/policy-error.ts'
import { builtInVocabulary, type PolicyVocabulary } from '../language/policy-vocabulary.ts'
import { compilePolicies, type PolicySet } from '../policy-set.ts'
import { compileDocuments, isEnforced, mergeFiles, type CompileOptions } from './compile-documents.ts'
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
  return runAtOnce(compileDocuments(mergeFiles(parsed), {}))
}

interface LoadPolicyFolderOptions extends Pick<CompileOptions, 'onConditionFailure'> {
  readonly vocabulary?: PolicyVocabulary
}

/** Loads the policies of a folder with their documents and tests. Throws PolicyError with every error in every file. */
export async function loadPolicyFolder(
  folder: string,
  { vocabulary = builtInVocabulary, onConditionFailure }: LoadPolicyFolderOptions = {},
): Promise<LoadedPolicies> {
  const texts = await createFolderLocation(folder).read()
  const files = texts.files.map((file) => parsePolicyFile(file, vocabulary))
  const documents = mergeFiles(files)
  const tests = files.flatMap((file) => file.tests)
  const set = runAtOnce(compileDocuments(documents, onConditionFailure ? { onConditionFailure } : {}))
  const enforced = documents.filter(isEnforced)
  const withShadows =
    enforced.length === documents.length ? set : compilePolicies(documents, onConditionFailure)
  return { documents: enforced, tests, set, withShadowPolicies: { documents, set: withShadows } }
}
