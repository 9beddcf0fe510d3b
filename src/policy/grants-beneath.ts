import type { CompiledRule } from './compiled-rule.ts'
import type { PolicyNode } from './policy-node.ts'
import type { NumberedCaller } from './subject-numbers.ts'

/** A rule, and the namespace that it stands in. */
export interface PlacedRule {
  readonly rule: CompiledRule
  readonly node: PolicyNode
}

/** What a namespace and those beneath it allow that concerns the caller, exceptions aside; a rule may come twice. */
export type GrantsBeneath = (top: PolicyNode, caller: NumberedCaller) => Generator<PlacedRule>

/**
 * Finds rules that allow by whom they concern, so that nobody pays for others. They come in the order of their
 * namespaces, in which everything beneath a namespace lies together: what is found is a part of the list of each
 * subject.
 */
export function indexGrants(rules: readonly PlacedRule[]): GrantsBeneath {
  const bySubject = new Map<number, PlacedRule[]>()
  for (const placed of rules) {
    if (placed.rule.effect === 'deny') continue
    for (const subject of placed.rule.subjects) {
      const grants = bySubject.get(subject)
      if (grants === undefined) bySubject.set(subject, [placed])
      else grants.push(placed)
    }
  }

  return function* (top, { numbers }) {
    for (const number of numbers) {
      const grants = bySubject.get(number)
      if (grants === undefined) continue
      for (let index = firstFrom(grants, top.number); index < grants.length; index++) {
        const grant = grants[index]
        if (grant === undefined || grant.node.number >= top.end) break
        yield grant
      }
    }
  }
}

/** The place of the first grant of that namespace or of one behind it. */
function firstFrom(grants: readonly PlacedRule[], number: number): number {
  let [low, high] = [0, grants.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((grants[middle]?.node.number ?? number) < number) low = middle + 1
    else high = middle
  }
  return low
}
