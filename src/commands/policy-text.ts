import type { Identifier } from '../interface/identifiers.ts'
import type { RuleReference } from '../policy/decision.ts'
import { fullName } from '../policy/decision-test.ts'
import type { NamedSubjects, Subjects } from '../policy/policy-document.ts'
import { referenceTo, type ReachingRule } from '../policy/rule-reach.ts'
import { anybody, subjectsIn, unauthenticated, type Subject } from '../policy/subject-logic.ts'

/** Prints a line for people. */
export function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

/** Prints a value for programs. */
export function printJson(value: unknown): void {
  print(JSON.stringify(value, undefined, 2))
}

/** `prod/sales`, and `/` for the root. */
export function showId(id: Identifier): string {
  return id.length === 0 ? '/' : id.join('/')
}

/** `team-sales/owner-drops (team.yaml:18)`. */
export function showRule(rule: RuleReference): string {
  return `${fullName(rule)} (${rule.file}:${rule.line})`
}

/** The same, of a rule that was found. */
export function showReaching(rule: ReachingRule): string {
  return showRule(referenceTo(rule))
}

/** `group analysts`, `every caller`, `callers without a credential`. */
export function showSubject({ kind, name }: Subject): string {
  if (kind === 'anonymous') return 'callers without a credential'
  return kind === 'any' ? 'every caller' : `${kind} ${name}`
}

/** `user al, group ops`. */
export function showNames(names: NamedSubjects): string {
  return subjectsIn(names).map(showSubject).join(', ')
}

/** `every caller except group ops`. */
export function showSubjects(subjects: Subjects): string {
  // Whoever is named besides is one of those, unless it is nobody who is known.
  const named = subjectsIn(subjects).filter(
    (one) => !subjects.any || one === anybody || one === unauthenticated,
  )
  const text = named.map(showSubject).join(', ')
  return subjects.except === undefined ? text : `${text} except ${showNames(subjects.except)}`
}

/** A condition on one line; of a requirement, what it demands. */
export function showCondition(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return line.startsWith('{"') ? `it fails the requirement ${line}` : line
}

/** Lines in columns, two spaces apart, the last as long as it is. */
export function columns(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, index) => Math.max(...rows.map((row) => row[index]?.length ?? 0)))
  return rows.map((row) =>
    row
      .map((text, index) => text.padEnd(widths[index] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}
