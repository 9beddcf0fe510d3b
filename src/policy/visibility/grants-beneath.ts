import type { CompiledRule } from '../engine/compiled-rule.ts'
import type { PolicyNode } from '../engine/policy-node.ts'
import type { NumberedCaller } from '../engine/subject-numbers.ts'

/** A rule, and the namespace that it stands in. */
export interface RuleAtNode {
  readonly rule: CompiledRule
  readonly node: PolicyNode
}

/** What a namespace and those beneath it allow that concerns the caller, exceptions aside; a rule may come twice. */
export type FindGrantsBeneath = (top: PolicyNode, caller: NumberedCaller) => Generator<RuleAtNode>

/**
 * Finds rules that allow by whom they concern, so that nobody pays for others. They come in the order of their
 * namespaces, in which everything beneath a namespace lies together: what is found is a part of the list of each
 * subject.
 */
export function indexGrants(rules: readonly RuleAtNode[]): FindGrantsBeneath {
  const bySubject = new Map<number, RuleAtNode[]>()
  for (const located of rules) {
    if (located.rule.effect === 'deny') continue
    for (const subject of located.rule.subjects) {
      const grants = bySubject.get(subject)
      if (grants === undefined) bySubject.set(subject, [located])
      else grants.push(located)
    }
  }

  return function* (top, { subjects }) {
    for (const number of subjects) {
      const grants = bySubject.get(number)
      if (grants === undefined) continue
      for (let index = firstIndexFrom(grants, top.index); index < grants.length; index++) {
        const grant = grants[index]
        if (grant === undefined || grant.node.index >= top.subtreeEnd) break
        yield grant
      }
    }
  }
}

/** The place of the first grant of that namespace or of one behind it. */
function firstIndexFrom(grants: readonly RuleAtNode[], number: number): number {
  let [low, high] = [0, grants.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((grants[middle]?.node.index ?? number) < number) low = middle + 1
    else high = middle
  }
  return low
}
