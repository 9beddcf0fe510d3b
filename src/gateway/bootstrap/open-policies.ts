import type { AuditLog } from '../../audit/log/audit-log.ts'
import type { PolicyVocabulary } from '../../policy/language/policy-vocabulary.ts'
import { createSettingsVocabulary } from '../../policy/source/settings-vocabulary.ts'
import { describeConditionError } from '../../policy/conditions/condition-errors.ts'
import type { OpenDocumentSource } from '../../policy/source/document-source.ts'
import { createEmergencyLocation, toEmergencyDocuments } from '../../policy/source/emergency-policies.ts'
import { mirrorSource } from '../../policy/source/mirror-source.ts'
import { combineSources, openLocation, type PolicySource } from '../../policy/source/policy-source.ts'
import type { PoliciesFollower } from '../observability/policies-follower.ts'
import { listIgnoredFiles } from '../../policy/source/policy-files.ts'
import { createFolderLocation } from '../../policy/source/policy-location.ts'
import type { ReportConditionFailure } from '../../policy/engine/rule-compiler.ts'
import { type PolicySettings } from '../../config/policy-settings.ts'
import type { LastGoodPolicies } from '../../policy/source/last-good/last-good-policies.ts'
import { openPolicyLocation } from '../../policy/source/open-policy-location.ts'
import { withShadow, type ShadowDifference } from '../../policy/source/shadow-policies.ts'
import type { PolicySet } from '../../policy/policy-set.ts'
import { createLogThrottle } from '../../observability/log/log-throttle.ts'
import type { ReadinessCheck } from '../../observability/health/readiness.ts'
import { openLastGood } from './open-last-good.ts'
import type { Bootstrap } from './open-observability.ts'
import type { PolicyResources } from './open-policy-resources.ts'

/** The policies of a gateway. */
export interface OpenedPolicies extends PolicySource {
  /** Describes what keeps changes from being seen, in words for an operator; undefined if nothing does. */
  findProblem(): string | undefined
  /** Of last good policies, if they are kept. */
  readonly checks: readonly ReadinessCheck[]
}

/** Receives reports about policies, and what these may name. */
interface PolicyObservers extends Omit<Bootstrap, 'settings' | 'outbound'> {
  readonly audit: AuditLog
  readonly vocabulary: PolicyVocabulary
  readonly follower?: PoliciesFollower | undefined
  readonly lastGood?: LastGoodPolicies | undefined
}

/**
 * Opens the policies of all sources, with candidates beside them if the settings name some, and watches them. Throws
 * PolicyError if any cannot be loaded at the start; a later change that cannot be loaded changes nothing.
 */
export async function openPolicies(
  bootstrap: Bootstrap,
  audit: AuditLog,
  follower: PoliciesFollower | undefined,
): Promise<OpenedPolicies> {
  const { settings, tuning, closers, metrics, log, files } = bootstrap
  const vocabulary = createSettingsVocabulary(settings)
  const kept = settings.policies.lastGood
  const opened = kept && (await openLastGood(kept, bootstrap, audit, vocabulary))
  const observers = {
    tuning,
    closers,
    metrics,
    log,
    files,
    audit,
    follower,
    vocabulary,
    lastGood: opened?.lastGood,
  }
  await warnOfIgnoredFiles(settings.policies, log)
  const resources = await openResources(settings.policies, observers)
  const policies = await openBoth(settings.policies, resources, observers)
  closers.push(() => policies.close())
  return { ...policies, findProblem: () => resources?.findProblem(), checks: opened?.checks ?? [] }
}

async function warnOfIgnoredFiles(
  { folder, emergencyFolder }: PolicySettings,
  log: Bootstrap['log'],
): Promise<void> {
  for (const each of [folder, emergencyFolder]) {
    // A folder that cannot be read is an error of its policies.
    const files = each === undefined ? [] : await listIgnoredFiles(each).catch(() => [])
    if (files.length > 0) log.warn({ files }, 'files beside policies ignored: expected .yaml or .yml')
  }
}

/** Imported on demand: a gateway without policies in Kubernetes does not load the client. */
async function openResources(
  { kubernetes }: PolicySettings,
  { vocabulary, ...bootstrap }: PolicyObservers,
): Promise<PolicyResources | undefined> {
  if (kubernetes === undefined) return undefined
  const { openPolicyResources } = await import('./open-policy-resources.ts')
  return openPolicyResources(kubernetes, vocabulary, bootstrap)
}

async function openBoth(
  settings: PolicySettings,
  resources: PolicyResources | undefined,
  observers: PolicyObservers,
): Promise<PolicySource> {
  const shadowDiffers = shadowReport(observers)
  const others = [...listEmergencySources(settings, observers), ...(resources ? [resources.open] : [])]
  const mirrored = others.map((open) => mirrorSource(open))
  const opened = { settings, resources, sources: mirrored.map(({ open }) => open) }
  const live = await openLive(opened, observers, shadowDiffers)
  if (settings.candidateFolder === undefined) return live
  try {
    const mirrors = mirrored.map(({ openMirror }) => openMirror)
    const candidate = await openCandidate(settings.candidateFolder, mirrors, observers)
    return besideCandidate(live, candidate, shadowDiffers)
  } catch (error) {
    live.close()
    throw error
  }
}

interface LivePolicies {
  readonly settings: PolicySettings
  readonly resources: PolicyResources | undefined
  /** Sources beside the folder or bundle. */
  readonly sources: readonly OpenDocumentSource[]
}

async function openLive(
  { settings, resources, sources }: LivePolicies,
  observers: PolicyObservers,
  onShadowDifference: (difference: ShadowDifference) => void,
): Promise<PolicySource> {
  const { metrics, log, audit, vocabulary, follower, lastGood } = observers
  const announce = (revision: string): void => {
    metrics.policyRevision.reset()
    metrics.policyRevision.set({ revision }, 1)
    metrics.policyLoaded.setToCurrentTime()
  }
  const location = await openPolicyLocation(settings)
  metrics.policyReloadSuccessful.set(1)
  // Files come first: among rules of one namespace that apply, the first one is named in decisions.
  const source = await combineSources([openLocation(location, { vocabulary, lastGood }), ...sources], {
    onConditionFailure: conditionReport(observers),
    onShadowDifference,
    onDocuments: (documents, hasError) => {
      resources?.setInForce(documents)
      follower?.loaded(documents)
      if (hasError) follower?.failed()
    },
    onReload: ({ revision }, hasError) => {
      metrics.policyReloads.inc({ result: 'success' })
      metrics.policyReloadSuccessful.set(hasError ? 0 : 1)
      announce(revision)
      audit.recordReload({ what: 'policies', revision })
      log.info({ revision }, 'policies reloaded')
    },
    onError: (error, { revision }) => {
      follower?.failed()
      metrics.policyReloads.inc({ result: 'failure' })
      metrics.policyReloadSuccessful.set(0)
      audit.recordReload({ what: 'policies', revision, details: { result: 'failure' } })
      log.error({ error: String(error) }, 'policy reload failed')
    },
  })
  announce(source.current().revision)
  if (source.current().size === 0) {
    log.warn({ source: location.name }, 'no policies: every request is denied')
  }
  return source
}

function listEmergencySources(
  { emergencyFolder }: PolicySettings,
  { vocabulary }: PolicyObservers,
): readonly OpenDocumentSource[] {
  if (emergencyFolder === undefined) return []
  const location = createEmergencyLocation(emergencyFolder)
  return [openLocation(location, { vocabulary, adapt: toEmergencyDocuments, mayBeEmptied: true })]
}

function openCandidate(
  folder: string,
  sources: readonly OpenDocumentSource[],
  { log, vocabulary }: PolicyObservers,
): Promise<PolicySource> {
  const location = openLocation(createFolderLocation(folder), { vocabulary })
  return combineSources([location, ...sources], {
    onReload: ({ revision }) => log.info({ revision }, 'candidate policies reloaded'),
    onError: (error) => {
      log.error({ error: String(error) }, 'candidate policy reload failed')
    },
  })
}

/** Compares the policies in force with the candidate. A new set is created only if either has changed. */
function besideCandidate(
  live: PolicySource,
  candidate: PolicySource,
  differs: (difference: ShadowDifference) => void,
): PolicySource {
  let pair: readonly [PolicySet, PolicySet] | undefined
  let both: PolicySet | undefined
  return {
    current() {
      const [now, next] = [live.current(), candidate.current()]
      if (both === undefined || pair?.[0] !== now || pair[1] !== next) {
        pair = [now, next]
        both = withShadow(now, next, differs)
      }
      return both
    },
    close() {
      live.close()
      candidate.close()
    },
  }
}

function conditionReport({ metrics, log }: PolicyObservers): ReportConditionFailure {
  const lines = createLogThrottle(1)
  return ({ policy, rule, file, line }, effect, error) => {
    metrics.policyConditionFailures.inc({ effect })
    const suppressed = lines.take(effect)
    if (suppressed === undefined) return
    log.warn(
      { policy, rule, file, line, effect, error: describeConditionError(error), suppressed },
      'policy condition failed',
    )
  }
}

function shadowReport({ metrics, log }: PolicyObservers): (difference: ShadowDifference) => void {
  const lines = createLogThrottle(10)
  return ({ request: { principal, permission, id }, live, candidate }) => {
    const change = candidate === undefined ? 'undecided' : live.allowed ? 'allow_to_deny' : 'deny_to_allow'
    metrics.policyShadowDifferences.inc({ operation: permission, change })
    const suppressed = lines.take(change)
    if (suppressed === undefined) return
    const rules = { rule: live.rule, candidateRule: candidate?.rule }
    log.info(
      { operation: permission, id, principal: principal.name, change, ...rules, suppressed },
      'shadow decision differs',
    )
  }
}
