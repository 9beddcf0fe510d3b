import type { Permission } from '../interface/permissions.ts'
import { applies, type Asked, type CompiledRule, type TableQuestion } from './compiled-rule.ts'

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
  first(asked: Asked, table: TableQuestion): CompiledRule | undefined {
    if (!this.#permissions.has(asked.inquiry.permission)) return undefined
    const { numbers } = asked.caller
    let first: CompiledRule | undefined
    // A token may carry hundreds of groups, and a namespace may name hundreds: look up the fewer in the more.
    if (numbers.size < this.#bySubject.size) {
      for (const number of numbers) first = earliest(this.#bySubject.get(number), asked, table, first)
    } else {
      for (const [number, rules] of this.#bySubject) {
        if (numbers.has(number)) first = earliest(rules, asked, table, first)
      }
    }
    return first
  }
}

function earliest(
  rules: readonly CompiledRule[] | undefined,
  asked: Asked,
  table: TableQuestion,
  first: CompiledRule | undefined,
): CompiledRule | undefined {
  if (rules === undefined) return first
  for (const rule of rules) {
    if (first !== undefined && first.order < rule.order) return first
    if (rule.permissions.has(asked.inquiry.permission) && applies(rule, asked, table)) return rule
  }
  return first
}
