import type { AuditLog, AuditRecord, Comparison, Sinks } from '../audit/index.ts'
import { formatIdentifierText } from '../catalog-api/index.ts'
import { formatCount } from '../lib/index.ts'
import { type ReadinessCheck, readReadiness } from '../observability/index.ts'
import type { PolicySet, VocabularyOptions } from '../policy/index.ts'
import { type Fact, formatPosition } from './audit-entries.ts'
import { version } from '../version.ts'

/** The parts of a gateway that the console shows. */
export interface ConsoleSource {
  readonly checks: readonly ReadinessCheck[]
  upstreams(): readonly Fact[]
  /** The policies in force. */
  policies(): PolicySet
  /** In seconds since 1970. */
  policiesLoadedAt(): Promise<number>
  readonly audit: Pick<AuditLog, 'status' | 'durableEnd'>
  readonly auditFolder: string
  readonly vocabulary: VocabularyOptions
  readonly sinks: Pick<Sinks, 'status'>
}

interface Card {
  readonly title: string
  readonly facts: readonly Fact[]
  /** Findings for an operator to investigate. */
  readonly found?: readonly string[]
}

export type Seal = Pick<AuditRecord, 'seq' | 'time'>

/** Describes the gateway: `seal` is the newest one of its audit log, `comparison` the last `audit compare`. */
export async function readConsoleState(
  source: ConsoleSource,
  seal: Seal | undefined,
  comparison: Comparison | undefined,
) {
  const { problems, warnings } = await readReadiness(source.checks)
  const { revision, documents } = source.policies()
  const cards: readonly Card[] = [
    { title: 'Past the gateway', ...describeComparison(comparison) },
    { title: 'Audit log', facts: describeAudit(source, seal) },
    { title: 'Upstreams', facts: source.upstreams() },
    {
      title: 'Policies',
      facts: [
        ['Policies', String(documents.length)],
        ['Loaded', formatAge((await source.policiesLoadedAt()) * 1000)],
        ['Revision', revision.slice(0, 12)],
      ],
    },
  ]
  return {
    now: Date.now(),
    about: `version ${version}, started ${formatAge(Date.now() - process.uptime() * 1000)}`,
    problems: describeChecks(problems),
    warnings: describeChecks(warnings),
    revision,
    cards,
  }
}

function describeChecks(found: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(found).map(([name, text]) => `${name}: ${text}`)
}

function describeComparison(comparison: Comparison | undefined): Omit<Card, 'title'> {
  if (comparison === undefined)
    return {
      facts: [['Compared', 'not yet; `catalog-gateway audit compare` finds versions without a record']],
    }
  const { time, since, tables, versions, unexplained, found, problems } = comparison
  return {
    facts: [
      ['Unrecorded', formatCount(unexplained, 'version'), unexplained === 0],
      ['Compared', `${formatCount(versions, 'version')} of ${formatCount(tables, 'table')}`],
      ...(since === undefined ? [] : [['Since', since] as const]),
      ['When', formatAge(Date.parse(time))],
      ...problems.map((problem) => ['Failed', problem, false] as const),
    ],
    found: found.map(({ id, branch, version: made, time: madeAt = 'unknown time' }) => {
      const where = branch === '' ? '' : ` of ${branch}`
      return `${formatIdentifierText(id)} version ${made}${where}, ${madeAt}`
    }),
  }
}

function describeAudit({ audit, sinks }: ConsoleSource, seal: Seal | undefined) {
  const { writable, dropped, unresolved, tampered, head } = audit.status()
  const signed = seal && `up to record ${seal.seq}, ${formatAge(Date.parse(seal.time))}`
  const facts: Fact[] = [
    ['State', writable ? 'writable' : 'unavailable: changes are refused', writable],
    ['Last', formatPosition(head)],
    ['Signed', signed ?? 'nothing yet'],
    ['In doubt', String(unresolved)],
  ]
  if (tampered > 0) facts.push(['Tampered', formatCount(tampered, 'change') + ' by others', false])
  if (dropped > 0)
    facts.push(['Lost', formatCount(dropped, 'refusal or reload', 'refusals or reloads'), false])
  for (const { sink, status } of sinks.status()) {
    const behind = `${formatCount(status.lagRecords, 'record')}, ${formatDuration(status.lagSeconds)} behind`
    facts.push([`Sink ${sink}`, status.lagRecords === 0 ? 'up to date' : behind])
  }
  return facts
}

function formatAge(ms: number): string {
  return `${formatDuration((Date.now() - ms) / 1000)} ago`
}

/** `3 h 20 min`. */
function formatDuration(seconds: number): string {
  if (seconds < 60) return `${Math.max(0, Math.floor(seconds))} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days`
}
