import type { ASTNode } from '@marcbachmann/cel-js'
import { getMembers } from '../../lib/json/is-object.ts'

/** Lists the direct children of a node, given its `args`. */
export function* childNodes(value: unknown): Generator<ASTNode> {
  if (Array.isArray(value)) {
    for (const item of value) yield* childNodes(item)
  } else if (isNode(value)) {
    yield value
  }
}

export function isNode(value: unknown): value is ASTNode {
  return typeof getMembers(value)['op'] === 'string'
}
