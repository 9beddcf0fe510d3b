import type { AuditLog } from '../../audit/log.ts'
import { judgeLook, type Judgement } from '../../audit/judge-look.ts'
import { endOf, type OpenQuestion } from '../../audit/open-questions.ts'
import type { IntentPlace, MadeVersion, Resolution, ResolvedEntry } from '../../audit/records.ts'
import type { TableHistory } from '../../audit/table-history.ts'
import { askVersion } from './ask-version.ts'
import type { Upstream } from '../upstream/upstream.ts'

/** When the upstream is asked, in milliseconds. */
interface ResolutionTimes {
  /**
   * How long a request may still be at work in the upstream after its outcome was lost. Absence counts after that
   * time, and when it was seen twice, so long apart.
   */
  readonly settleMs: number
  /** An outcome that is older stays unknown for good. */
  readonly giveUpMs: number
}

/** Finds out in the background what became of changes whose outcome is unknown. */
export interface OutcomeResolver {
  /** Takes up a question. One too many stays unknown until the next start. */
  add(question: OpenQuestion): void
  /** The intents of the questions that are open. */
  open(): IntentPlace[]
  close(): Promise<void>
}

/** What the resolver works with. */
interface ResolverParts {
  readonly audit: Pick<AuditLog, 'resolved'>
  readonly history: TableHistory
  readonly upstreams: readonly Upstream[]
  /** Whether versions that were made past the log are recorded. */
  readonly isContinuous: boolean
  readonly times: ResolutionTimes
  readonly onResolved: (entry: ResolvedEntry, question: OpenQuestion) => void
}

interface Pending {
  readonly question: OpenQuestion
  looks: number
  /** Whether the upstream has told something of it. */
  wasJudged: boolean
  /** When the upstream is asked next, and how long it is left alone after that if it says nothing. */
  nextAt: number
  pauseMs: number
  /** When it was first seen to be absent at a time that counts. */
  absentSince: number | undefined
  /** What is left is to record it. */
  resolved: ResolvedEntry | undefined
}

const maximumOpen = 10_000
const firstPauseMs = 500
const maximumPauseMs = 5 * 60_000

/** Begins to resolve. Upstreams are asked one question at a time, and only what clients leave them room for. */
export function resolveOutcomes(parts: ResolverParts): OutcomeResolver {
  const { audit, history, upstreams, isContinuous, times, onResolved } = parts
  const pending = new Set<Pending>()
  const byName = new Map(upstreams.map((upstream) => [upstream.name, upstream]))
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  const closing = new AbortController()
  let isClosed = false

  function schedule(): void {
    clearTimeout(timer)
    if (isClosed || running !== undefined || pending.size === 0) return
    const next = Math.min(...[...pending].map(({ nextAt }) => nextAt))
    timer = setTimeout(
      () => {
        running = askAllDue().finally(() => {
          running = undefined
          schedule()
        })
      },
      Math.max(0, next - Date.now()),
    ).unref()
  }

  async function askAllDue(): Promise<void> {
    for (const each of [...pending].filter(({ nextAt }) => nextAt <= Date.now())) {
      if (isClosed) return
      await askOne(each).catch(() => postpone(each))
    }
  }

  async function askOne(each: Pending): Promise<void> {
    if (each.resolved !== undefined) return conclude(each, each.resolved)
    const { judgement, versions } = await look(each)
    each.wasJudged = true
    const { result, evidence } = judgement
    const settledAt = each.question.since + times.settleMs
    // What nobody can tell yet may show when changes of others have come to their ends.
    const isEarly = Date.now() < settledAt && (result === 'absent' || result === 'undecided')
    if (isEarly) each.nextAt = settledAt
    else if (result === 'undecided' && othersMayTell(each)) each.nextAt = Date.now() + firstPauseMs
    else if (result !== 'absent') await decide(each, result, evidence, versions)
    else if (each.absentSince === undefined) {
      each.absentSince = Date.now()
      each.nextAt = each.absentSince + times.settleMs
    } else await decide(each, 'not_committed', evidence, versions)
  }

  /** Whether another change of the same tables has not been asked about yet: it may have made the version. */
  function othersMayTell({ question }: Pending): boolean {
    const keys = new Set(question.change.places.map(({ key }) => key))
    for (const other of pending) {
      if (!other.wasJudged && other.question.change.places.some(({ key }) => keys.has(key))) return true
    }
    return false
  }

  /** A batch is made as a whole or not at all: the first lookup that decides, decides for all. */
  async function look(each: Pending): Promise<{ judgement: Judgement; versions: MadeVersion[] }> {
    const { question } = each
    const upstream = byName.get(question.upstream)
    const versions: MadeVersion[] = []
    if (upstream === undefined)
      return { judgement: undecided('its upstream is no longer configured'), versions }
    let judgement = undecided('the change leaves no trace that identifies it')
    for (const lookup of question.lookups) {
      const found = await askVersion(upstream, lookup, closing.signal)
      each.looks += 1
      if (typeof found.found === 'object') versions.push(found.found)
      // The further versions of a batch that was made are looked up for the record.
      if (judgement.result !== 'committed') judgement = judgeLook(question, lookup, found, history)
      if (judgement.result === 'taken' || judgement.result === 'absent') break
    }
    return { judgement, versions }
  }

  function decide(
    each: Pending,
    result: Resolution,
    evidence: string,
    versions: MadeVersion[],
  ): Promise<void> {
    const { question, looks } = each
    const outOfBand = history.end(question.change, endOf({ result, versions }))
    const found = versions.length > 0 && { versions }
    each.resolved = {
      result,
      evidence,
      looks,
      ...found,
      ...(isContinuous && outOfBand.length > 0 && { outOfBand }),
    }
    return conclude(each, each.resolved)
  }

  async function conclude(each: Pending, entry: ResolvedEntry): Promise<void> {
    await audit.resolved(each.question.intent, entry)
    pending.delete(each)
    onResolved(entry, each.question)
  }

  /** Nothing was learnt, or nothing could be recorded. */
  async function postpone(each: Pending): Promise<void> {
    const now = Date.now()
    each.nextAt = now + each.pauseMs * (0.75 + 0.5 * Math.random())
    each.pauseMs = Math.min(maximumPauseMs, each.pauseMs * 2)
    if (isClosed || each.resolved !== undefined || now - each.question.since < times.giveUpMs) return
    const evidence = 'the upstream gave no answer within the maximum age'
    await decide(each, 'undecided', evidence, []).catch(() => undefined)
  }

  return {
    add(question) {
      if (pending.size >= maximumOpen) return
      const nextAt = Date.now()
      pending.add({
        question,
        looks: 0,
        wasJudged: false,
        nextAt,
        pauseMs: firstPauseMs,
        absentSince: undefined,
        resolved: undefined,
      })
      schedule()
    },
    open: () => [...pending].map(({ question }) => question.intent),
    async close() {
      isClosed = true
      clearTimeout(timer)
      closing.abort()
      await running
    },
  }
}

function undecided(evidence: string): Judgement {
  return { result: 'undecided', evidence }
}
