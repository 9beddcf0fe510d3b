import { meet } from './permission-bits.ts'
import { tableIn, type PolicyNode } from './policy-node.ts'
import { firstApplying, type Asked, type CompiledRule } from './rule-index.ts'

/**
 * Walks from the namespace of the object up to the root: the first rule found is of the deepest namespace. A deny
 * ends the walk; an allow is given up where a namespace above it reserves the permission.
 */
export function decisiveRule(start: PolicyNode, asked: Asked): CompiledRule | undefined {
  let allow: CompiledRule | undefined
  let isStopped = false
  for (let node: PolicyNode | undefined = start; node !== undefined; node = node.parent) {
    const here = tableIn(node, asked)
    const deny = node.denies && firstApplying(node.denies, asked, here)
    if (deny !== undefined) return deny
    if (meet(node.final, asked.bit)) allow = undefined
    if (allow === undefined && !isStopped && node.allows) {
      allow = firstApplying(node.allows, asked, here)
    }
    isStopped ||= node.isBoundary
  }
  return allow
}
