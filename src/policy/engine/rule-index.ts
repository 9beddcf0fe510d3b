import type { Permission } from '../../catalog-api/permissions.ts'
import type { CompiledRule } from './compiled-rule.ts'
import { judgeRule, outcomeApplies, type Evaluation, type TableSelector } from './evaluation.ts'

/** Rules of one namespace and one effect, indexed by subject. */
export class RuleIndex {
  readonly #all: CompiledRule[] = []
  readonly #bySubject = new Map<number, CompiledRule[]>()
  readonly #permissions = new Set<Permission>()

  /** Rules must be added in their order. */
  add(rule: CompiledRule): void {
    this.#all.push(rule)
    for (const permission of rule.permissions) this.#permissions.add(permission)
    for (const subject of rule.subjects) {
      const rules = this.#bySubject.get(subject)
      if (rules === undefined) this.#bySubject.set(subject, [rule])
      else rules.push(rule)
    }
  }

  /**
   * Returns the first rule, in order, that covers the permission, names the caller and applies. Notes rules that may apply
   * in the evaluation.
   */
  first(evaluation: Evaluation, table: TableSelector): CompiledRule | undefined {
    if (!this.#permissions.has(evaluation.input.permission)) return undefined
    const { subjects, known } = evaluation.caller
    if (known !== undefined && subjects.size === 0) return earliest(this.#all, evaluation, table, undefined)
    let first: CompiledRule | undefined
    // A token may have hundreds of groups and a namespace hundreds of subjects: iterate over the smaller set.
    if (subjects.size < this.#bySubject.size) {
      for (const number of subjects) first = earliest(this.#bySubject.get(number), evaluation, table, first)
    } else {
      for (const [number, rules] of this.#bySubject) {
        if (subjects.has(number)) first = earliest(rules, evaluation, table, first)
      }
    }
    return first
  }
}

function earliest(
  rules: readonly CompiledRule[] | undefined,
  evaluation: Evaluation,
  table: TableSelector,
  first: CompiledRule | undefined,
): CompiledRule | undefined {
  if (rules === undefined) return first
  for (const rule of rules) {
    if (first !== undefined && first.order < rule.order) return first
    if (!rule.permissions.has(evaluation.input.permission)) continue
    const outcome = judgeRule(rule, evaluation, table)
    if (outcomeApplies(rule, outcome)) return rule
    if (outcome !== 'open') continue
    if (rule.effect === 'deny') evaluation.openDeny ??= rule
    else evaluation.openAllow ??= rule
  }
  return first
}
