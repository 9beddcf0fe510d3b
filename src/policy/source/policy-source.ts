import { onReload } from '../../lib/fs/reload.ts'
import { runAtOnce, runInSlices, type Steps } from '../../lib/async/run-in-slices.ts'
import type { ParsedPolicies } from '../language/parse-policies.ts'
import type { ParsedFile } from './parse-in-thread.ts'
import { parsePolicyFile } from './parse-policy-file.ts'
import type { PolicyDocument } from '../language/policy-document.ts'
import { builtInVocabulary, type PolicyVocabulary } from '../language/policy-vocabulary.ts'
import { PolicyError, type PolicyProblem } from '../language/policy-error.ts'
import { createPolicyFileReader } from './policy-file-reader.ts'
import { createFolderLocation, type PolicyLocation, type PolicyText } from './policy-location.ts'
import type { ReportConditionFailure } from '../engine/rule-compiler.ts'
import { withShadow, type ReportShadowDifference } from './shadow-policies.ts'
import { compilePolicies, compileSteps, type PolicySet } from '../policy-set.ts'

/** Options of `watchPolicies`. The callbacks must not throw. */
export interface WatchPoliciesOptions {
  /** The operations that the policies may name; default: those of the catalog API. */
  readonly vocabulary?: PolicyVocabulary
  /** Poll interval; default 2000. */
  readonly intervalMs?: number
  /** Called when a changed set takes effect, and also with an unchanged set after an error or `reloadFiles`. */
  readonly onReload?: (set: PolicySet) => void
  /** The previous set stays in force. Called once per distinct error, and for each `reloadFiles`. */
  readonly onError?: (error: PolicyError) => void
  readonly onConditionFailure?: ReportConditionFailure
  /** Called with the documents in force, initially and after each reload. */
  readonly onDocuments?: (documents: readonly PolicyDocument[]) => void
  /** Called when policies with `mode: shadow` would change a decision. If undefined, they are not evaluated. */
  readonly onShadowDifference?: ReportShadowDifference
}

/** The policies in force, reloaded on change until closed. */
export interface PolicySource {
  /** Read it once per request, so that one set decides the whole request. */
  current(): PolicySet
  close(): void
}

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
  return runAtOnce(compileContents(mergeFiles(parsed), {}))
}

type LoadPolicyFolderOptions = Pick<WatchPoliciesOptions, 'vocabulary' | 'onConditionFailure'>

/** Loads the policies of a folder with their documents and tests. Throws PolicyError with every error in every file. */
export async function loadPolicyFolder(
  folder: string,
  { vocabulary = builtInVocabulary, onConditionFailure }: LoadPolicyFolderOptions = {},
): Promise<LoadedPolicies> {
  const texts = await createFolderLocation(folder).read()
  const files = texts.files.map((file) => parsePolicyFile(file, vocabulary))
  const { documents, problems } = mergeFiles(files)
  const tests = files.flatMap((file) => file.tests)
  const set = runAtOnce(
    compileContents({ documents, problems }, onConditionFailure ? { onConditionFailure } : {}),
  )
  const enforced = documents.filter(isEnforced)
  const withShadows =
    enforced.length === documents.length ? set : compilePolicies(documents, onConditionFailure)
  return { documents: enforced, tests, set, withShadowPolicies: { documents, set: withShadows } }
}

/**
 * Loads the policies and reloads them when they change, completely or not at all. Throws PolicyError if the first load
 * fails. Polls, because file system events get lost when files are replaced or Kubernetes swaps the link above them.
 */
export async function watchPolicies(
  location: PolicyLocation,
  options: WatchPoliciesOptions = {},
): Promise<PolicySource> {
  const reader = createPolicyFileReader(options.vocabulary ?? builtInVocabulary)
  const texts = await location.read()
  // Parsed synchronously: nothing uses the event loop before the first policies are in force.
  const first = mergeFiles(reader.read(texts.files))
  let current = runAtOnce(compileContents(first, options))
  options.onDocuments?.(first.documents.filter(isEnforced))
  // Undefined if the last poll failed, so that the next one reads again.
  let loadedStamp: string | undefined = texts.stamp
  let lastError: string | undefined
  let isClosed = false
  let timer: NodeJS.Timeout | undefined

  async function poll(isForced: boolean): Promise<void> {
    const before = loadedStamp
    loadedStamp = undefined
    if (!isForced && before === (await location.stamp())) {
      loadedStamp = before
      return
    }
    const { stamp, files } = await location.read()
    const contents = mergeFiles(await reader.readInBackground(files))
    loadedStamp = stamp
    const set = await runInSlices(compileContents(contents, options))
    if (set.size === 0 && current.size > 0)
      throw new PolicyError([{ file: location.name, message: emptiedMessage }])
    if (isClosed) return
    const isChanged = isForced || set.revision !== current.revision || lastError !== undefined
    // Replaced even if the revision is equal: line numbers of rules may have changed.
    current = set
    lastError = undefined
    options.onDocuments?.(contents.documents.filter(isEnforced))
    if (isChanged) options.onReload?.(set)
  }

  function reportError(cause: unknown, isForced: boolean): void {
    const error =
      cause instanceof PolicyError
        ? cause
        : new PolicyError([{ file: location.name, message: String(cause) }])
    if (isClosed || (error.message === lastError && !isForced)) return
    lastError = error.message
    options.onError?.(error)
  }

  // Polls run one after the other, so that an older read cannot replace a newer one.
  let lastPoll = Promise.resolve()
  function pollInOrder(isForced = false): Promise<void> {
    return (lastPoll = lastPoll
      .then(() => poll(isForced))
      .catch((cause: unknown) => reportError(cause, isForced)))
  }

  function pollLater(): void {
    if (isClosed) return
    timer = setTimeout(() => void pollInOrder().finally(pollLater), options.intervalMs ?? 2000)
    timer.unref()
  }

  pollLater()
  const unsubscribe = onReload(() => pollInOrder(true))
  return {
    current: () => current,
    close() {
      isClosed = true
      unsubscribe()
      clearTimeout(timer)
    },
  }
}

/** An emptied folder is more likely a broken mount than the intent to deny everything. */
const emptiedMessage = 'no longer contains a policy in force; to deny everything, keep a policy without rules'

function* compileContents(
  { documents, problems }: ParsedFile,
  {
    onConditionFailure,
    onShadowDifference,
  }: Pick<WatchPoliciesOptions, 'onConditionFailure' | 'onShadowDifference'>,
): Steps<PolicySet> {
  const all = [...problems, ...findDuplicateNames(documents)]
  if (all.length > 0) throw new PolicyError(all)
  const enforced = documents.filter(isEnforced)
  const set = yield* compileSteps(enforced, onConditionFailure)
  if (onShadowDifference === undefined || enforced.length === documents.length) return set
  return withShadow(set, yield* compileSteps(documents), onShadowDifference)
}

function isEnforced({ isShadow }: PolicyDocument): boolean {
  return !isShadow
}

function mergeFiles(files: readonly ParsedFile[]): ParsedFile {
  return {
    documents: files.flatMap(({ documents }) => documents),
    problems: files.flatMap(({ problems }) => problems),
  }
}

/** Decisions refer to a policy by name only, so names must be unique. */
function findDuplicateNames(documents: readonly PolicyDocument[]): readonly PolicyProblem[] {
  const seen = new Map<string, PolicyDocument>()
  return documents.flatMap((document) => {
    const { name, file, line, column } = document
    const before = seen.get(name)
    if (before === undefined) seen.set(name, document)
    const message = `metadata.name: duplicate policy name "${name}", also in ${before?.file}:${before?.line}`
    return before === undefined ? [] : [{ file, line, column, message }]
  })
}
