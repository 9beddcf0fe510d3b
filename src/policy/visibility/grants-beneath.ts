import type { CompiledRule } from '../engine/compiled-rule.ts'
import type { PolicyNode } from '../engine/policy-node.ts'
import type { NumberedCaller } from '../engine/subject-numbers.ts'

export interface RuleAtNode {
  readonly rule: CompiledRule
  readonly node: PolicyNode
}

/** Allow rules in or beneath a namespace that name the caller, exceptions aside. May yield a rule twice. */
export type FindGrantsBeneath = (top: PolicyNode, caller: NumberedCaller) => Generator<RuleAtNode>

/**
 * Indexes allow rules by subject. The rules must be in the order of their nodes: a subtree is then one range of each
 * list.
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

/** Binary search for the first grant whose node index is at least `number`. */
function firstIndexFrom(grants: readonly RuleAtNode[], number: number): number {
  let [low, high] = [0, grants.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((grants[middle]?.node.index ?? number) < number) low = middle + 1
    else high = middle
  }
  return low
}
