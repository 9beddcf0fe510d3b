import { onReload } from '../../lib/fs/reload.ts'
import { runAtOnce, runInSlices, type Steps } from '../../lib/async/run-in-slices.ts'
import type { ParsedPolicies } from '../language/parse-policies.ts'
import type { ParsedFile } from './parse-in-thread.ts'
import { parsePolicyFile } from './parse-policy-file.ts'
import type { PolicyDocument } from '../language/policy-document.ts'
import { PolicyError, type PolicyProblem } from '../language/policy-error.ts'
import { createPolicyFileReader } from './policy-file-reader.ts'
import { createFolderLocation, type PolicyLocation, type PolicyText } from './policy-location.ts'
import type { ReportConditionFailure } from '../engine/rule-compiler.ts'
import { withShadow, type ReportShadowDifference } from './shadow-policies.ts'
import { compilePolicies, compileSteps, type PolicySet } from '../policy-set.ts'

/** How policies are watched. The callbacks must not throw. */
export interface WatchPoliciesOptions {
  /** How long to wait between two looks; 2000 unless told. */
  readonly intervalMs?: number
  /** Other policies are in force from now on, or the same after a fault or `reloadFiles`. */
  readonly onReload?: (set: PolicySet) => void
  /** The policies cannot be used; those before stay in force. Called once per fault, and for each `reloadFiles`. */
  readonly onError?: (error: PolicyError) => void
  /** A condition could not be told; see ConditionFailed. */
  readonly onConditionFailure?: ReportConditionFailure
  /** These documents are in force from now on; told of the first ones too. */
  readonly onDocuments?: (documents: readonly PolicyDocument[]) => void
  /** Policies with `mode: shadow` would have decided otherwise. Without it, nobody asks them. */
  readonly onShadowDifference?: ReportShadowDifference
}

/** The policies in force, followed until closed. */
export interface PolicySource {
  /** The set in force; ask once per request, so that a request is decided by one set. */
  current(): PolicySet
  close(): void
}

/** What stands in a folder of policies. */
export interface LoadedPolicies extends Pick<ParsedPolicies, 'tests'> {
  /** The policies in force, without those with `mode: shadow`. */
  readonly documents: readonly PolicyDocument[]
  readonly set: PolicySet
  /** All of them, as if those with `mode: shadow` were in force too. */
  readonly withShadowPolicies: Pick<LoadedPolicies, 'documents' | 'set'>
}

/** Throws PolicyError if a place holds no policy: that is a wrong path, more likely than a wish to deny everything. */
export function assertAnyPolicy(location: string, count: number): void {
  if (count > 0) return
  const message = 'contains no policy in .yaml or .yml files; to deny everything, keep a policy without rules'
  throw new PolicyError([{ file: location, message }])
}

/** Loads the policies of a folder. Throws PolicyError with every fault in every file. */
export async function loadPolicies(folder: string): Promise<PolicySet> {
  return loadPoliciesFrom(createFolderLocation(folder))
}

/** Loads the policies of a place. Throws PolicyError with every fault in every file. */
export async function loadPoliciesFrom(location: PolicyLocation): Promise<PolicySet> {
  return compilePolicyTexts((await location.read()).files)
}

/** Compiles the policies of these files. Throws PolicyError with every fault in every file. */
export function compilePolicyTexts(files: readonly PolicyText[]): PolicySet {
  return runAtOnce(compileContents(joined(files.map(parsePolicyFile)), {}))
}

/** Loads the policies of a folder, and what they were made of. Throws PolicyError with every fault in every file. */
export async function loadPolicyFolder(
  folder: string,
  onConditionFailure?: ReportConditionFailure,
): Promise<LoadedPolicies> {
  const files = (await createFolderLocation(folder).read()).files.map(parsePolicyFile)
  const { documents, problems } = joined(files)
  const tests = files.flatMap((file) => file.tests)
  const set = runAtOnce(
    compileContents({ documents, problems }, onConditionFailure ? { onConditionFailure } : {}),
  )
  const inForce = documents.filter(isEnforced)
  const withShadows =
    inForce.length === documents.length ? set : compilePolicies(documents, onConditionFailure)
  return { documents: inForce, tests, set, withShadowPolicies: { documents, set: withShadows } }
}

/**
 * Loads the policies of a place and follows its changes; all of a change takes effect at once or not at all.
 * Throws PolicyError if they cannot be used to begin with. It looks at the status of the files instead of waiting
 * for events, which get lost when files are replaced or Kubernetes swaps the link above them. `reloadFiles` has them
 * read at once, also without a change, and `onReload` or `onError` called in any case.
 */
export async function watchPolicies(
  location: PolicyLocation,
  options: WatchPoliciesOptions = {},
): Promise<PolicySource> {
  const reader = createPolicyFileReader()
  const texts = await location.read()
  // Nobody waits for the event loop before the first policies are in force.
  const first = joined(reader.read(texts.files))
  let current = runAtOnce(compileContents(first, options))
  options.onDocuments?.(first.documents.filter(isEnforced))
  // Undefined where the last look could not read everything, so that the next one tries again.
  let seen: string | undefined = texts.stamp
  let complaint: string | undefined
  let isClosed = false
  let timer: NodeJS.Timeout | undefined

  async function poll(isForced: boolean): Promise<void> {
    const before = seen
    seen = undefined
    if (!isForced && before === (await location.stamp())) {
      seen = before
      return
    }
    const { stamp, files } = await location.read()
    const contents = joined(await reader.readInBackground(files))
    seen = stamp
    const set = await runInSlices(compileContents(contents, options))
    if (set.size === 0 && current.size > 0)
      throw new PolicyError([{ file: location.name, message: emptiedMessage }])
    if (isClosed) return
    const isNews = isForced || set.revision !== current.revision || complaint !== undefined
    // Also where it says the same: a rule may stand in another line now.
    current = set
    complaint = undefined
    options.onDocuments?.(contents.documents.filter(isEnforced))
    if (isNews) options.onReload?.(set)
  }

  function complain(cause: unknown, isForced: boolean): void {
    const error =
      cause instanceof PolicyError
        ? cause
        : new PolicyError([{ file: location.name, message: String(cause) }])
    if (isClosed || (error.message === complaint && !isForced)) return
    complaint = error.message
    options.onError?.(error)
  }

  // One after the other: what was read first must not be in force last.
  let polled = Promise.resolve()
  function pollInOrder(isForced = false): Promise<void> {
    return (polled = polled.then(() => poll(isForced)).catch((cause: unknown) => complain(cause, isForced)))
  }

  function pollLater(): void {
    if (isClosed) return
    timer = setTimeout(() => void pollInOrder().finally(pollLater), options.intervalMs ?? 2000)
    timer.unref()
  }

  pollLater()
  const forget = onReload(() => pollInOrder(true))
  return {
    current: () => current,
    close() {
      isClosed = true
      forget()
      clearTimeout(timer)
    },
  }
}

/** A folder that lost everything is a mount gone wrong, more likely than a wish to shut everybody out. */
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
  const inForce = documents.filter(isEnforced)
  const set = yield* compileSteps(inForce, onConditionFailure)
  if (onShadowDifference === undefined || inForce.length === documents.length) return set
  return withShadow(set, yield* compileSteps(documents), onShadowDifference)
}

function isEnforced({ isShadow }: PolicyDocument): boolean {
  return !isShadow
}

function joined(files: readonly ParsedFile[]): ParsedFile {
  return {
    documents: files.flatMap(({ documents }) => documents),
    problems: files.flatMap(({ problems }) => problems),
  }
}

/** A decision names a policy by its name alone, so no two may share one. */
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
