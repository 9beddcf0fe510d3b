import type { ASTNode } from '@marcbachmann/cel-js'
import { getMembers } from '../../lib/json/json-values.ts'

/** Lists a node and all beneath it, each before what is beneath it. */
export function* listNodes(node: ASTNode): Generator<ASTNode> {
  yield node
  for (const child of childNodes(node.args)) yield* listNodes(child)
}

/** Lists the direct children of a node, given its `args`. */
export function* childNodes(value: unknown): Generator<ASTNode> {
  if (Array.isArray(value)) {
    for (const item of value) yield* childNodes(item)
  } else if (isNode(value)) {
    yield value
  }
}

function isNode(value: unknown): value is ASTNode {
  return typeof getMembers(value)['op'] === 'string'
}

interface Call {
  readonly node: Extract<ASTNode, { readonly op: 'call' | 'rcall' }>
  readonly name: string
  /** Without what it is called on. */
  readonly args: readonly ASTNode[]
}

/** Returns undefined for a node that is no call. */
export function readCall(node: ASTNode): Call | undefined {
  if (node.op === 'call') return { node, name: node.args[0], args: node.args[1] }
  return node.op === 'rcall' ? { node, name: node.args[0], args: node.args[2] } : undefined
}

/** Returns a literal text; undefined for another node. */
export function readText({ op, args }: ASTNode): string | undefined {
  return op === 'value' && typeof args === 'string' ? args : undefined
}
