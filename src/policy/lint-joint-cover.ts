import type { Permission } from '../interface/permissions.ts'
import { about, type Finding } from './finding.ts'
import type { PolicyDocument, PolicyRule } from './policy-document.ts'
import { namespaceLimits } from './namespace-limits.ts'
import type { DocumentIndex } from './rule-reach.ts'
import { rulesBySubject, rulesNaming, type PlacedRule } from './rules-by-subject.ts'
import { concernOf, knownBy, subjectsIn, type Subject } from './subject-logic.ts'

/**
 * Rules that allow nothing which several others do not allow together: to the same callers, as much or more, everywhere.
 * Denies play no part, as they deny whatever rule allows. The rules of `needless`, which others say already, cover
 * nothing, and neither does a rule that was found here: so all that are told of can go at once, and nothing changes.
 */
export function lintJointCover(
  documents: readonly PolicyDocument[],
  index: DocumentIndex,
  needless: ReadonlySet<PolicyRule>,
): readonly Finding[] {
  const gone = new Set(needless)
  const findCover = coverFinder(documents, index, gone)
  const findings: Finding[] = []
  // Of rules that cover each other, the last is told of.
  for (const document of documents.toReversed()) {
    for (const rule of document.rules.toReversed()) {
      if (rule.effect === 'deny' || gone.has(rule)) continue
      const cover = findCover({ document, rule })
      if (cover === undefined) continue
      gone.add(rule)
      findings.push(about(document, rule, 'warning', 'shadowed', messageOf(cover)))
    }
  }
  return findings
}

function messageOf(cover: readonly PlacedRule[]): string {
  const names = cover.map(
    ({ document, rule }) => `${document.name}/${rule.id} (${document.file}:${rule.line})`,
  )
  const last = names.pop() ?? ''
  if (names.length === 0) return `is redundant: covered by ${last}`
  return `is redundant: covered by ${names.join(', ')} and ${last} together`
}

/** The rules that together allow all that one allows; undefined where there are none, and where that is not certain. */
type FindCover = (own: PlacedRule) => readonly PlacedRule[] | undefined

/** Finds what covers rules, those aside that are gone at the time. */
function coverFinder(
  documents: readonly PolicyDocument[],
  index: DocumentIndex,
  gone: ReadonlySet<PolicyRule>,
): FindCover {
  const bySubject = rulesBySubject(documents, 'allow')
  const { reservedAbove, floorOf } = namespaceLimits(index)

  return (own) => {
    const chosen = new Set<PlacedRule>()
    for (const subject of subjectsIn(own.rule.subjects)) {
      if (concernOf(own.rule.subjects, knownBy(subject)) === false) continue
      const candidates = candidatesFor(subject, own)
      for (const pattern of own.rule.tables ?? [undefined]) {
        if (!cover(own, pattern, candidates, chosen)) return undefined
      }
    }
    return chosen.size === 0 ? undefined : [...chosen]
  }

  /** Rules that concern every caller whom the other rule concerns as that subject, and reach all that it reaches. */
  function candidatesFor(subject: Subject, own: PlacedRule): readonly PlacedRule[] {
    const { namespace } = own.document
    const floor = floorOf(namespace)
    const paths = [...namespace, ''].map((_, depth) => namespace.slice(0, depth)).slice(floor)
    const known = knownBy(subject)
    return paths
      .flatMap((path) => rulesNaming(bySubject, path, subject))
      .filter(
        ({ document, rule }) =>
          rule !== own.rule &&
          !gone.has(rule) &&
          (own.document.isShadow || !document.isShadow) &&
          (rule.condition === undefined || rule.condition.text === own.rule.condition?.text) &&
          concernOf(rule.subjects, known) === true,
      )
  }

  /** Adds rules to those chosen until all that the rule allows on tables of the pattern, or on everything, is covered. */
  function cover(
    own: PlacedRule,
    pattern: string | undefined,
    candidates: readonly PlacedRule[],
    chosen: Set<PlacedRule>,
  ): boolean {
    const left = new Set(own.rule.permissions)
    // Those that were chosen before come first, so that few are named.
    for (const candidate of [...candidates.filter((other) => chosen.has(other)), ...candidates]) {
      if (!coversTables(candidate, own.document, pattern)) continue
      for (const permission of coveredBy(candidate)) if (left.delete(permission)) chosen.add(candidate)
      if (left.size === 0) return true
    }
    return false
  }

  /** What no namespace above keeps to itself. */
  function coveredBy({ document, rule }: PlacedRule): readonly Permission[] {
    const reserved = reservedAbove(document.namespace)
    return [...rule.permissions].filter((permission) => !reserved.has(permission))
  }
}

function coversTables(
  { document, rule }: PlacedRule,
  own: PolicyDocument,
  pattern: string | undefined,
): boolean {
  if (rule.tables === undefined) return true
  return (
    pattern !== undefined &&
    document.namespace.length === own.namespace.length &&
    rule.tables.includes(pattern)
  )
}
