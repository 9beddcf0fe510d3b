import { formatIdentifierText } from '../../catalog-api/identifier-text.ts'
import type { RestrictionChange, RestrictionEffect } from '../../policy/analysis/diff-restrictions.ts'
import {
  createRestrictionReport,
  type ReachingRestriction,
} from '../../policy/analysis/reaching-restrictions.ts'
import { formatColumns, formatPolicySubjects, formatRestrictedBy } from './format-policy.ts'

/** Returns lines: what the callers gain and lose, and the restriction before and after. */
export function formatRestrictionChange({
  name,
  before,
  after,
  effects,
}: RestrictionChange): readonly string[] {
  return [
    `restriction ${name}`,
    ...effects.map(({ direction, part, columns }) => `  ${direction}  ${formatPart(part, columns)}`),
    `    before: ${formatSide(before)}`,
    `    after:  ${formatSide(after)}`,
  ]
}

function formatPart(part: RestrictionEffect['part'], columns: RestrictionEffect['columns']): string {
  if (columns !== undefined) return `columns ${formatColumns(columns)}`
  return part === 'columns' ? 'all other columns' : part
}

function formatSide(restriction: ReachingRestriction | undefined): string {
  if (restriction === undefined) return 'no restriction'
  const { document, rule } = restriction
  const tables = `the tables ${(rule.tables ?? []).join(', ')} in ${formatIdentifierText(document.namespace)}`
  return formatRestrictedBy(restriction, ` for ${formatPolicySubjects(rule.subjects)} on ${tables}`)
}

/** The same for JSON. */
export function createRestrictionChangeReport({ name, before, after, effects }: RestrictionChange): unknown {
  return {
    restriction: name,
    effects: effects.map(({ columns, ...effect }) => ({
      ...effect,
      ...(columns && { columns: Object.fromEntries(columns) }),
    })),
    ...(before && { before: reportSide(before) }),
    ...(after && { after: reportSide(after) }),
  }
}

function reportSide(restriction: ReachingRestriction): unknown {
  const { document, rule } = restriction
  return {
    ...createRestrictionReport(restriction),
    namespace: document.namespace,
    tables: rule.tables,
    subjects: rule.subjects,
  }
}
