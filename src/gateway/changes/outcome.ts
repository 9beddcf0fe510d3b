import type { OutcomeEntry } from '../../audit/records.ts'
import { InterfaceError } from '../../interface/errors.ts'
import { ExchangeFailed, type UpstreamAnswer } from '../upstream/exchange.ts'
import { madeVersions } from './made-versions.ts'
import type { Payload } from '../body/payload.ts'
import type { Matched } from '../context.ts'
import type { TrackedChange } from './change-tracking.ts'
import { reasonOfFailure } from '../upstream/upstream-failure.ts'

/** A change that was sent upstream. */
interface SentChange extends Matched {
  readonly payload: Payload
  readonly intent: { readonly change: TrackedChange } | undefined
}

/** What became of a change that the upstream answered. */
export function outcomeOf(answer: UpstreamAnswer, request: SentChange, startedAt: number): OutcomeEntry {
  const { status } = answer
  const entry = request.intent?.change.entry
  const versions = entry === undefined ? [] : madeVersions(entry, answerIn(answer))
  // The versions of a batch belong to several tables.
  const version = request.route.operation.object === 'none' ? undefined : versions[0]?.version
  return {
    result: status < 300 ? 'committed' : status < 500 ? 'rejected' : 'unknown',
    status,
    version,
    versions: versions.length > 0 ? versions : undefined,
    upload: uploadOf(request),
    durationMs: elapsed(startedAt),
  }
}

/** What became of a change that was not answered. */
export function outcomeOfFailure(error: unknown, request: SentChange, startedAt: number): OutcomeEntry {
  return {
    result: changedNothing(error, request) ? 'failed' : 'unknown',
    upload: uploadOf(request),
    durationMs: elapsed(startedAt),
    details: { reason: reasonOfFailure(error) },
  }
}

/**
 * A request of which nothing was sent changes nothing, and neither does a JSON body that was broken off for what was
 * found in it: without its end it is no JSON. An Arrow stream says inside where it ends, so that a catalog may have
 * taken it for whole before the request was.
 */
function changedNothing(error: unknown, { route }: SentChange): boolean {
  if (!(error instanceof ExchangeFailed) || error.progress === 'unsent') return true
  return error.cause instanceof InterfaceError && route.operation.body !== 'arrow'
}

function elapsed(startedAt: number): number {
  return Math.round((performance.now() - startedAt) * 100) / 100
}

/** The answer of success to a change; undefined where it is no JSON. */
function answerIn({ status, body }: UpstreamAnswer): unknown {
  if (status >= 300 || body === undefined || body.length === 0) return undefined
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}

function uploadOf({ payload }: SentChange): OutcomeEntry['upload'] {
  return payload.form === 'stream' ? payload.meter?.facts() : undefined
}
