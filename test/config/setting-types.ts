import type { SchemaNode } from '../../src/settings/schema-node.ts'

/** Describes the type of a setting: `integer from 0 to 65535`, `none, optional or required`. */
export function typeOf(node: SchemaNode): string {
  const choices = node.enum ?? (node.const === undefined ? [] : [node.const])
  if (choices.length > 0) return listed(choices.map(String))
  if (node.properties !== undefined) return 'section'
  const ways = [...new Set([...(node.anyOf ?? []), ...(node.oneOf ?? [])].map(typeOf))]
  if (ways.length > 0) return listed(ways)
  if (node.type === 'array') {
    return node.items?.type === 'object' ? 'list' : `list of ${node.items ? typeOf(node.items) : 'values'}`
  }
  if (node.type === 'integer' || node.type === 'number') return `${node.type}${boundsOf(node)}`
  if (node.type === 'string') return node.secret ? 'text, secret' : 'text'
  return node.type === 'boolean' ? 'true or false' : 'value'
}

function boundsOf({ minimum, exclusiveMinimum, maximum = Infinity }: SchemaNode): string {
  // A limit above the maximum timer delay is no real limit.
  const isBounded = maximum < 2_147_483_647
  const least = minimum !== undefined && minimum > Number.MIN_SAFE_INTEGER ? minimum : undefined
  const above = exclusiveMinimum === undefined ? '' : ` above ${exclusiveMinimum}`
  if (least === undefined) return above + (isBounded ? `, at most ${maximum}` : '')
  return isBounded ? ` from ${least} to ${maximum}` : `, at least ${least}`
}

function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
}
