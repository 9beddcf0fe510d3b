import { type CatalogError, quoteForMessage, refusal, type RefusalReason } from '../../catalog-api/index.ts'
import { type CallerRestriction, FilterError, printFilter, type VisibleColumns } from '../../policy/index.ts'
import type { JsonObject } from '../facts/stated-facts.ts'

/** New values of members of a request; undefined for a member that is removed. */
export type MemberChanges = ReadonlyMap<string, unknown>

/** The reasons of refusals: parts of a request that a restriction excludes, or that cannot be checked. */
type RestrictionRefusal = Extract<RefusalReason, `restricted_${string}`>

export function isRestrictionRefusal(reason: RefusalReason): boolean {
  return reason.startsWith('restricted_')
}

/** The error for a request for data that a restriction excludes, or that cannot be checked. */
export function unsupportedError(
  message: string,
  reason: RestrictionRefusal = 'restricted_member',
): CatalogError {
  return refusal(reason, `you may read a part of this table only: ${message}`)
}

/** A column that is hidden and one that does not exist are the same to the caller. */
export function missingColumnError(name: string): CatalogError {
  return unsupportedError(`there is no column ${quoteForMessage(name)}`, 'restricted_column')
}

/** Whether a member counts as absent. */
export function isAbsent(value: unknown): value is undefined | null {
  return value === undefined || value === null
}

/**
 * Throws InvalidInput (400) for a member that is not among those that are understood, so that none is passed on unread,
 * and unless the newest version of the main branch is read: older ones may hold hidden data.
 */
export function assertUnderstood(members: JsonObject, understood: ReadonlySet<string>): void {
  for (const [name, value] of Object.entries(members)) {
    if (!isAbsent(value) && !understood.has(name))
      throw unsupportedError(`${quoteForMessage(name)} is not supported; omit it`)
  }
  const { version, branch, tag } = members
  const isMain = isAbsent(branch) || branch === '' || branch === 'main'
  if (!isMain || !isAbsent(version) || !isAbsent(tag))
    throw unsupportedError(
      'only its newest version on the branch main; omit "version", "branch" and "tag"',
      'restricted_version',
    )
}

/**
 * Returns the filter that the engine gets: that of the restriction and that of the caller, both parsed and printed;
 * undefined if there is none. Throws InvalidInput (400) for a filter that the grammar does not have.
 */
export function restrictFilter(
  member: string,
  filter: unknown,
  restriction: CallerRestriction,
): string | undefined {
  const { columns, rows } = restriction
  if (isAbsent(filter) || (typeof filter === 'string' && filter.trim() === '')) return rows
  if (typeof filter !== 'string') throw unsupportedError(`${quoteForMessage(member)} is no text`)
  const printed = printCallerFilter(member, filter, columns)
  return rows === undefined ? printed : `(${rows} AND ${printed})`
}

/** Knows visible columns only, and names the member in the errors of the grammar. */
function printCallerFilter(member: string, filter: string, columns: VisibleColumns): string {
  try {
    return printFilter(filter, (path) => columns.get(path))
  } catch (error) {
    if (!(error instanceof FilterError)) throw error
    throw unsupportedError(
      `${quoteForMessage(member)}: ${error.message} (character ${error.offset + 1}); ${grammarHint}`,
      'restricted_filter',
    )
  }
}

const grammarHint =
  'supported are columns compared with literals by = <> < <= > >=, IN, BETWEEN, LIKE, ILIKE and IS NULL, joined by AND, OR and NOT'
