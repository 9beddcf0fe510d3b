import type { ASTNode } from '@marcbachmann/cel-js'
import { describeRegularExpression } from './name-pattern.ts'
import { getMembers } from '../../lib/json/json-values.ts'

const comparisons: readonly string[] = ['==', '!=', 'in']
const textFunctions: readonly string[] = ['startsWith', 'endsWith', 'contains']

/** Finds texts with `*` where it is an ordinary character, and regular expressions in `like`. */
export function findPatternMistakes(node: ASTNode): readonly string[] {
  const children = [...childNodes(node.args)]
  return [...describeNode(node, children), ...children.flatMap(findPatternMistakes)]
}

function describeNode(node: ASTNode, children: readonly ASTNode[]): readonly string[] {
  const name = node.op === 'rcall' ? node.args[0] : node.op
  const operands = children.flatMap((child) => (child.op === 'list' ? [...childNodes(child.args)] : [child]))
  const texts = operands.flatMap(({ op, args }) => (op === 'value' && typeof args === 'string' ? [args] : []))
  if (name === 'like') {
    return texts.flatMap((text) => {
      const problem = describeRegularExpression(text)
      return problem === undefined ? [] : [`in "like", ${problem}`]
    })
  }
  if (!comparisons.includes(name) && !textFunctions.includes(name)) return []
  return texts
    .filter((text) => text.includes('*'))
    .map(
      (text) =>
        `"*" in ${JSON.stringify(text)} is an ordinary character for "${name}"; ` +
        `for any characters, write like(${JSON.stringify(text)})`,
    )
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
