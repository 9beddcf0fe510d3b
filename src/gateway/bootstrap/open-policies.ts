import type { AuditLog } from '../../audit/log.ts'
import { reasonOf } from '../../policy/condition.ts'
import { watchPolicies, type PolicySource } from '../../policy/folder.ts'
import type { PolicyDocument } from '../../policy/policy-document.ts'
import { policyFolder } from '../../policy/policy-place.ts'
import type { ConditionFailed } from '../../policy/rule-compiler.ts'
import { policyPlace, type PolicySettings } from '../../policy/settings.ts'
import { shadowed, type ShadowDifference } from '../../policy/shadow.ts'
import type { PolicySet } from '../../policy/trie.ts'
import { limitLines } from '../../telemetry/limit-lines.ts'
import type { Bootstrap } from './open-observability.ts'

/** Reports on policies go to these. */
interface PolicyObservers extends Pick<Bootstrap, 'metrics' | 'log'> {
  readonly audit: AuditLog
  readonly follower?: PoliciesFollower | undefined
}

/** Receives the policies in force. */
export interface PoliciesFollower {
  loaded(documents: readonly PolicyDocument[]): void
  /** A change could not be loaded. */
  failed(): void
}

/**
 * Opens the policies, with candidates beside them if the settings name some, and watches both. Throws PolicyError if
 * either cannot be loaded at the start; a later change that cannot be loaded changes nothing.
 */
export async function openPolicies(
  { settings, closers, metrics, log }: Bootstrap,
  audit: AuditLog,
  follower: PoliciesFollower | undefined,
): Promise<PolicySource> {
  const policies = await openBoth(settings.policies, { metrics, log, audit, follower })
  closers.push(() => policies.close())
  return policies
}

async function openBoth(settings: PolicySettings, observers: PolicyObservers): Promise<PolicySource> {
  const shadowDiffers = shadowReport(observers)
  const live = await openLive(settings, observers, shadowDiffers)
  if (settings.candidate === undefined) return live
  try {
    return besideCandidate(live, await openCandidate(settings.candidate, observers), shadowDiffers)
  } catch (error) {
    live.close()
    throw error
  }
}

async function openLive(
  settings: PolicySettings,
  observers: PolicyObservers,
  shadowDiffers: (difference: ShadowDifference) => void,
): Promise<PolicySource> {
  const { metrics, log, audit, follower } = observers
  const announce = (revision: string): void => {
    metrics.policyRevision.reset()
    metrics.policyRevision.set({ revision }, 1)
    metrics.policyLoaded.setToCurrentTime()
    metrics.policyReloadSuccessful.set(1)
  }
  const place = await policyPlace(settings)
  const source: PolicySource = await watchPolicies(place, {
    conditionFailed: conditionReport(observers),
    shadowDiffers,
    ...(follower && { onDocuments: (documents) => follower.loaded(documents) }),
    onReload: ({ revision }) => {
      metrics.policyReloads.inc({ result: 'success' })
      announce(revision)
      audit.reload({ what: 'policies', revision })
      log.info({ revision }, 'policies reloaded')
    },
    onError: (error) => {
      follower?.failed()
      metrics.policyReloads.inc({ result: 'failure' })
      metrics.policyReloadSuccessful.set(0)
      audit.reload({ what: 'policies', revision: source.current().revision, details: { result: 'failure' } })
      log.error({ error: String(error) }, 'policies not reloaded: the last good ones stay in force')
    },
  })
  announce(source.current().revision)
  if (source.current().size === 0) {
    log.warn({ place: place.name }, 'no policy in force: every request is denied')
  }
  return source
}

function openCandidate(folder: string, { log }: PolicyObservers): Promise<PolicySource> {
  return watchPolicies(policyFolder(folder), {
    onReload: ({ revision }) => log.info({ revision }, 'candidate policies reloaded'),
    onError: (error) => {
      log.error({ error: String(error) }, 'candidate policies not reloaded: the last good ones are compared')
    },
  })
}

/** What is in force, compared with the candidate: a set is made anew only where one of the two has changed. */
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
        both = shadowed(now, next, differs)
      }
      return both
    },
    close() {
      live.close()
      candidate.close()
    },
  }
}

function conditionReport({ metrics, log }: PolicyObservers): ConditionFailed {
  const lines = limitLines(1)
  return ({ policy, rule, file, line }, effect, error) => {
    metrics.policyConditionFailures.inc({ effect })
    const heldBack = lines.take(effect)
    if (heldBack === undefined) return
    log.warn({ policy, rule, file, line, effect, error: reasonOf(error), heldBack }, 'condition failed')
  }
}

function shadowReport({ metrics, log }: PolicyObservers): (difference: ShadowDifference) => void {
  const lines = limitLines(10)
  return ({ question: { principal, permission, id }, live, candidate }) => {
    const change = candidate === undefined ? 'undecided' : live.allowed ? 'allow_to_deny' : 'deny_to_allow'
    metrics.policyShadowDifferences.inc({ operation: permission, change })
    const heldBack = lines.take(change)
    if (heldBack === undefined) return
    const rules = { rule: live.rule, candidateRule: candidate?.rule }
    log.info(
      { operation: permission, id, principal: principal.name, change, ...rules, heldBack },
      'shadow policy',
    )
  }
}
