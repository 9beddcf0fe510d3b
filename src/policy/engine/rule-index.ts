import type { Permission } from '../../catalog-api/permissions.ts'
import { ruleApplies, type Evaluation, type CompiledRule, type TableSelector } from './compiled-rule.ts'

/** The rules of one namespace and one effect, by the subjects that they name. */
export class RuleIndex {
  readonly #bySubject = new Map<number, CompiledRule[]>()
  readonly #permissions = new Set<Permission>()

  /** Adds a rule. Rules are added in their order. */
  add(rule: CompiledRule): void {
    for (const permission of rule.permissions) this.#permissions.add(permission)
    for (const subject of rule.subjects) {
      const rules = this.#bySubject.get(subject)
      if (rules === undefined) this.#bySubject.set(subject, [rule])
      else rules.push(rule)
    }
  }

  /** The first rule, in order, that is about the permission, concerns the caller and applies. */
  first(requested: Evaluation, table: TableSelector): CompiledRule | undefined {
    if (!this.#permissions.has(requested.input.permission)) return undefined
    const { subjects } = requested.caller
    let first: CompiledRule | undefined
    // A token may carry hundreds of groups, and a namespace may name hundreds: look up the fewer in the more.
    if (subjects.size < this.#bySubject.size) {
      for (const number of subjects) first = earliest(this.#bySubject.get(number), requested, table, first)
    } else {
      for (const [number, rules] of this.#bySubject) {
        if (subjects.has(number)) first = earliest(rules, requested, table, first)
      }
    }
    return first
  }
}

function earliest(
  rules: readonly CompiledRule[] | undefined,
  requested: Evaluation,
  table: TableSelector,
  first: CompiledRule | undefined,
): CompiledRule | undefined {
  if (rules === undefined) return first
  for (const rule of rules) {
    if (first !== undefined && first.order < rule.order) return first
    if (rule.permissions.has(requested.input.permission) && ruleApplies(rule, requested, table)) return rule
  }
  return first
}
