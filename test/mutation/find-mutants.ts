import { parseSync, visitorKeys, type CallExpression, type Node, type VisitorObject } from 'oxc-parser'
import { findRegexMutants } from './regex-mutants.ts'

/** A change to a source file that a test should detect. Positions are UTF-16 units of the source. */
export interface Mutant {
  readonly start: number
  readonly end: number
  readonly replacement: string
  /** One-based. */
  readonly line: number
  /** Old and new text, as `a < b -> a <= b`. */
  readonly change: string
}

const swappedOperators: Readonly<Record<string, readonly string[]>> = {
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  '===': ['!=='],
  '!==': ['==='],
  '+': ['-'],
  '-': ['+'],
  '*': ['/'],
  '/': ['*'],
  '%': ['*'],
  '&': ['|'],
  '|': ['&'],
  '^': ['&'],
  '<<': ['>>'],
  '>>': ['<<'],
  '>>>': ['<<'],
  '&&': ['||'],
  '||': ['&&'],
  '??': ['&&'],
  '+=': ['-='],
  '-=': ['+='],
  '|=': ['&='],
  '&=': ['|='],
}
const swappedMethods: Readonly<Record<string, string>> = {
  some: 'every',
  every: 'some',
  startsWith: 'endsWith',
  endsWith: 'startsWith',
  min: 'max',
  max: 'min',
}
/** Methods whose call can be removed, leaving their object. */
const droppedMethods: ReadonlySet<string> = new Set([
  'toLowerCase',
  'trim',
  'sort',
  'toSorted',
  'reverse',
  'toReversed',
])
/** Type syntax has no effect at run time, except for expressions within these. */
const expressionsWithTypes: ReadonlySet<string> = new Set([
  'TSAsExpression',
  'TSNonNullExpression',
  'TSSatisfiesExpression',
])

/** Lists the mutants of a TypeScript source in source order. Throws if it cannot be parsed. */
export function findMutants(path: string, source: string): readonly Mutant[] {
  const { program, errors } = parseSync(path, source)
  if (errors[0] !== undefined) throw new Error(`${path} cannot be parsed: ${errors[0].message}`)
  const mutants: Mutant[] = []
  const text = (node: Node): string => source.slice(node.start, node.end)
  const replace = (start: number, end: number, replacement: string, shown: Shown = { start, end }): void => {
    const line = source.slice(0, start).split('\n').length
    const before = source.slice(shown.start, shown.end)
    const after = source.slice(shown.start, start) + replacement + source.slice(end, shown.end)
    const change = `${oneLine(before)} -> ${oneLine(after)}`
    mutants.push({ start, end, replacement, line, change })
  }
  const replaceNode = (node: Node, replacement: string): void => replace(node.start, node.end, replacement)
  const replaceOperator = (node: Node, left: Node, right: Node, operator: string): void => {
    const at = source.indexOf(operator, left.end)
    if (at >= right.start) throw new Error(`${path} has no ${operator} at ${left.end}`)
    for (const swapped of swappedOperators[operator] ?? []) replace(at, at + operator.length, swapped, node)
  }
  const replaceCondition = (test: Node): void => {
    if (test.type === 'Literal') return
    replaceNode(test, 'true')
    replaceNode(test, 'false')
  }
  const replaceOperators = (node: Operation): void => {
    replaceOperator(node, node.left, node.right, node.operator)
  }
  const removeStatement = (node: Node): void => replaceNode(node, ';')
  const mutateCall = (node: CallExpression): void => {
    const { callee } = node
    if (callee.type !== 'MemberExpression' || callee.computed) return
    const { name } = callee.property
    const swapped = swappedMethods[name]
    if (swapped !== undefined) replace(callee.property.start, callee.property.end, swapped, node)
    if (droppedMethods.has(name)) replaceNode(node, text(callee.object))
  }
  const mutateLiteral = (node: Extract<Node, { type: 'Literal' }>): void => {
    if ('regex' in node) {
      for (const { start, end, replacement } of findRegexMutants(text(node)))
        replace(node.start + start, node.start + end, replacement, node)
    } else if (typeof node.value === 'string') {
      if (isMessage(node.value)) return
      replaceNode(node, node.value === '' ? "'mutated'" : "''")
    } else if (typeof node.value === 'number') {
      replaceNode(node, String(node.value + 1))
    } else if (typeof node.value === 'bigint') {
      replaceNode(node, `${node.value + 1n}n`)
    } else if (typeof node.value === 'boolean') {
      replaceNode(node, String(!node.value))
    }
  }
  const mutators: VisitorObject = {
    BinaryExpression(node) {
      if (node.operator !== '+' || !(isText(node.left) || isText(node.right))) replaceOperators(node)
    },
    LogicalExpression: replaceOperators,
    AssignmentExpression: replaceOperators,
    UnaryExpression(node) {
      if (['!', '-', '~'].includes(node.operator)) replaceNode(node, text(node.argument))
    },
    UpdateExpression(node) {
      replaceNode(node, text(node).replace(node.operator, node.operator === '++' ? '--' : '++'))
    },
    IfStatement: ({ test }) => replaceCondition(test),
    ConditionalExpression: ({ test }) => replaceCondition(test),
    WhileStatement: ({ test }) => replaceNode(test, 'false'),
    ForStatement({ test }) {
      if (test !== null) replaceNode(test, 'false')
    },
    ReturnStatement({ argument }) {
      if (argument !== null && !isPlain(argument)) replaceNode(argument, 'undefined')
    },
    ArrowFunctionExpression({ body }) {
      if (body.type !== 'BlockStatement' && !isPlain(body)) replaceNode(body, 'undefined')
    },
    ExpressionStatement(node) {
      // A pause changes no result.
      if (text(node) !== 'yield') removeStatement(node)
    },
    ThrowStatement: removeStatement,
    BreakStatement: removeStatement,
    ContinueStatement: removeStatement,
    CallExpression: mutateCall,
    MemberExpression(node) {
      if (node.optional && !node.computed) replace(node.object.end, node.property.start, '.', node)
    },
    TemplateLiteral(node) {
      if (node.expressions.length > 0 && !isMessage(text(node))) replaceNode(node, '``')
    },
    Literal: mutateLiteral,
  }
  const walk = (node: Node): void => {
    if (node.type.startsWith('TS') && !expressionsWithTypes.has(node.type)) return
    const mutate = (mutators as Readonly<Record<string, ((node: Node) => void) | undefined>>)[node.type]
    mutate?.(node)
    for (const child of childrenToMutate(node)) walk(child)
  }
  walk(program)
  return mutants.toSorted((one, other) => one.start - other.start)
}

type Operation = Extract<Node, { type: 'BinaryExpression' | 'LogicalExpression' | 'AssignmentExpression' }>

interface Shown {
  readonly start: number
  readonly end: number
}

function childrenToMutate(node: Node): readonly Node[] {
  if (node.type === 'ImportDeclaration' || node.type === 'ExportAllDeclaration') return []
  // Messages are not tested here.
  if (node.type === 'ThrowStatement') return []
  // A loop that counts the wrong way hangs, which shows nothing.
  if (node.type === 'ForStatement') return [node.init, node.test, node.body].filter((child) => child !== null)
  if (node.type === 'LogicalExpression' && node.operator === '??' && isTypeOnlyDefault(node.left, node.right))
    return [node.left]
  return (visitorKeys[node.type] ?? [])
    .filter((key) => !isName(node, key))
    .flatMap((key) => (node as unknown as Record<string, Node | null | readonly (Node | null)[]>)[key] ?? [])
    .filter((child) => child !== null)
}

/** Whether the child is only a property name: the type checker refuses a changed one. */
function isName(node: Node, key: string): boolean {
  const namesMember =
    node.type === 'Property' || node.type === 'MethodDefinition' || node.type === 'PropertyDefinition'
  return namesMember && key === 'key' && !node.computed
}

/** Whether a default only satisfies the type of an indexed access, as in `list[index] ?? ''`. */
function isTypeOnlyDefault(left: Node, right: Node): boolean {
  return left.type === 'MemberExpression' && left.computed && right.type === 'Literal'
}

function isText(node: Node): boolean {
  return node.type === 'TemplateLiteral' || (node.type === 'Literal' && typeof node.value === 'string')
}

/** Whether a text has words, as messages have. */
function isMessage(text: string): boolean {
  return /[a-z] [a-z]/.test(text)
}

/** Whether replacing it by `undefined` changes nothing, or no more than the mutants of the expression itself. */
function isPlain(node: Node): boolean {
  return (
    (node.type === 'Literal' && typeof node.value === 'boolean') ||
    (node.type === 'Identifier' && node.name === 'undefined')
  )
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ')
}
