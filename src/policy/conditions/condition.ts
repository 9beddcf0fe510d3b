import {
  type ASTNode,
  Environment,
  EvaluationError,
  ParseError,
  TypeError as CelTypeError,
} from '@marcbachmann/cel-js'
import { LRUCache } from 'lru-cache'
import { getMembers, memoizeByObject, suggestSimilar } from '../../lib/index.ts'
import {
  type ConditionFact,
  conditionFacts,
  type ConditionInput,
  pendingFactError,
} from './authorization-request.ts'
import { isViolated, type RequirementData } from './commit-requirements.ts'
import { allowedFunctions, conditionFunctions, loopFunctions, replacesCall } from './condition-functions.ts'
import { conditionTypes, conditionVariables } from './condition-variables.ts'

/** Plain data, so that policies can be passed between threads. */
export interface Condition {
  /** Canonical: equal for equivalent conditions of one kind. Part of the policy revision. */
  readonly text: string
  readonly facts: readonly ConditionFact[]
  readonly readsId: boolean
  /** Tags that the condition names. */
  readonly tags: readonly string[]
  /** Of a condition that is not CEL: it is true of commits that violate this. */
  readonly requirement?: RequirementData
}

/** A text that is no condition. The message continues `the condition`. */
export class ConditionError extends Error {
  override readonly name = 'ConditionError'
  /** In the text, from 0. */
  readonly index: number

  constructor(message: string, index: number) {
    super(message)
    this.index = index
  }
}

/**
 * Returns whether a condition is true. Throws MissingFactError if the result depends on an unknown or pending fact; any
 * other error is a failure of the condition.
 */
export type Evaluate = (input: ConditionInput) => boolean

const maxLength = 2000

const environment = new Environment({
  limits: { maxAstNodes: 300, maxDepth: 24, maxListElements: 100, maxMapEntries: 20, maxCallArguments: 4 },
})
for (const [name, type] of Object.entries(conditionTypes)) environment.registerType(name, type)
for (const [name, { type }] of Object.entries(conditionVariables)) environment.registerVariable(name, type)
/** cel-js does not allow functions to be replaced, so a replacement has another name. */
const replacementPrefix = 'strict_'
for (const [name, { overloads = {} }] of conditionFunctions)
  for (const [signature, call] of Object.entries(overloads)) {
    const prefix = replacesCall(name, [signature]) ? replacementPrefix : ''
    environment.registerFunction(signature.replace(/\w+\(/, `${prefix}$&`), call)
  }

const compiled = new LRUCache<string, Condition | ConditionError>({ max: 1000 })

/** The limits on length and syntax bound the cost of an evaluation. */
export function compileCondition(text: string): Condition | ConditionError {
  let result = compiled.get(text)
  if (result === undefined) compiled.set(text, (result = compile(text)))
  return result
}

export const getEvaluator = memoizeByObject(({ text, tags, requirement }: Condition): Evaluate =>
  requirement === undefined ? createEvaluator(text, tags) : (input) => isViolated(requirement, input),
)

function compile(text: string): Condition | ConditionError {
  try {
    if (text.length > maxLength)
      throw new ConditionError(`is ${text.length} characters long; expected at most ${maxLength}`, 0)
    const parsed = environment.parse(text)
    const { names, tags } = readNames(parsed.ast)
    const { valid, type, error } = parsed.check()
    if (!valid) throw error
    if (type !== 'bool')
      throw new ConditionError(`is of type ${type}; expected a comparison, of type bool`, 0)
    const facts = conditionFacts.filter((name) => names.has(name))
    return { text, facts, readsId: names.has('id'), tags: [...tags] }
  } catch (error) {
    return error instanceof ConditionError ? error : readLibraryError(error, text)
  }
}

/** Describes why a condition failed, on one line and without values of the request. */
export function describeConditionError(error: unknown): string {
  if (error instanceof EvaluationError) return error.code
  return error instanceof Error ? error.message : 'not an error'
}

/** Adds the name that was probably meant. Rethrows errors of anything but cel-js. */
function readLibraryError(error: unknown, condition: string): ConditionError {
  if (!(error instanceof ParseError || error instanceof CelTypeError || error instanceof EvaluationError))
    throw error
  const { code, summary, range } = error
  const unknown = /^(?:Unknown variable|No such key): (\w+)$/.exec(summary)?.[1]
  const fields = Object.values(conditionTypes).flatMap(({ fields }) => Object.keys(fields))
  const candidates = code === 'unknown_variable' ? Object.keys(conditionVariables) : fields
  const index = range?.start ?? 0
  const suggestion =
    unknown === undefined
      ? suggestOperator(error, condition.slice(index))
      : suggestSimilar(unknown, candidates) || `; a text has quotes, such as "${unknown}"`
  const text = summary.charAt(0).toLowerCase() + summary.slice(1)
  return new ConditionError(text + suggestion, index)
}

/** Operators of other languages. */
const operators = new Map([
  ['=', '=='],
  ['&', '&&'],
  ['|', '||'],
  ['and', '&&'],
  ['or', '||'],
])

function suggestOperator(error: unknown, rest: string): string {
  const written = /^(?:[=&|]|(?:and|or)\b)/i.exec(rest)?.[0].toLowerCase()
  const operator = error instanceof ParseError && written !== undefined ? operators.get(written) : undefined
  return operator === undefined ? '' : `; did you mean "${operator}"?`
}

function createEvaluator(text: string, tags: readonly string[]): Evaluate {
  const evaluate = parseCondition(text)
  return (input) => {
    const scope = new Scope(input, tags)
    try {
      const result = evaluate(scope)
      if (typeof result !== 'boolean') throw new Error('the result of the condition is not a boolean')
      return result
    } catch (error) {
      // With another value of the pending fact, the part that failed might not matter.
      throw scope.readPending ? pendingFactError : error
    }
  }
}

/**
 * Variables are lazy getters: CEL ignores an error in an operand if the other operand decides an `||` or `&&`, so a
 * missing fact matters only if it is read.
 */
class Scope {
  readonly input: ConditionInput
  readonly namedTags: readonly string[]
  readPending = false

  constructor(input: ConditionInput, namedTags: readonly string[]) {
    this.input = input
    this.namedTags = namedTags
  }
}
for (const [name, variable] of Object.entries(conditionVariables)) {
  Object.defineProperty(Scope.prototype, name, {
    get(this: Scope) {
      try {
        return variable.read(this.input, this.namedTags)
      } catch (error) {
        this.readPending ||= error === pendingFactError
        throw error
      }
    },
  })
}

/**
 * Parses a text with the functions that cel-js does not let one replace; its errors do not name those that were written.
 * Returns a function that evaluates it with variables by name, with its syntax tree. Throws ParseError.
 */
export function parseCondition(text: string): ((scope: object) => unknown) & { readonly ast: ASTNode } {
  const evaluate = environment.parse(text)
  for (const node of listNodes(evaluate.ast)) {
    const call = readCall(node)
    if (call !== undefined && replacesCall(call.name, call.args))
      call.node.args[0] = replacementPrefix + call.name
  }
  return evaluate
}

/**
 * Returns the names of the variables that a condition reads, and the tags that it names: literals, so that one which no
 * policy declares is found at load. Throws ConditionError for syntax that cel-js accepts and conditions must not use.
 */
function readNames(tree: ASTNode) {
  const names = new Set<string>()
  const tags = new Set<string>()
  const tested = new Set<ASTNode>()
  for (const node of listNodes(tree)) {
    assertCall(node)
    if (node.op === 'in') {
      const tag = readText(node.args[0])
      if (tag !== undefined && isTags(node.args[1])) {
        tags.add(tag)
        tested.add(node.args[1])
      }
    } else if (isTags(node) && !tested.has(node)) {
      const expected = 'expected for example "pii" in tags'
      throw new ConditionError(`"tags" is used in another way than "NAME" in tags; ${expected}`, node.start)
    }
    if (node.op === 'id') names.add(node.args)
  }
  return { names, tags }
}

function isTags({ op, args }: ASTNode): boolean {
  return op === 'id' && args === 'tags'
}

/** Functions and operators of other languages. */
const functionsOfOthers = new Map([
  ['matches', 'like'],
  ['not', '!'],
])

function assertCall(node: ASTNode): void {
  const call = readCall(node)
  if (call === undefined) return
  const { name, args } = call
  if (!allowedFunctions.includes(name)) {
    const other = functionsOfOthers.get(name)
    const suggestion =
      other === undefined ? suggestSimilar(name, allowedFunctions) : `; did you mean "${other}"?`
    throw new ConditionError(`unknown function "${name}"${suggestion}`, node.start)
  }
  if (loopFunctions.includes(name)) {
    for (const inner of args.flatMap((argument) => [...listNodes(argument)])) {
      const nested = readCall(inner)?.name ?? ''
      if (loopFunctions.includes(nested))
        throw new ConditionError(`nested "${nested}"; only one loop is allowed`, inner.start)
    }
  }
  const { takes, validateArgument } = conditionFunctions.get(name) ?? {}
  const [argument] = args
  if (argument === undefined) return
  const text = readText(argument)
  if (text === undefined && takes !== undefined)
    throw new ConditionError(`"${name}" takes ${takes}`, argument.start)
  const problem = text === undefined ? undefined : validateArgument?.(text)
  if (problem !== undefined) throw new ConditionError(problem, argument.start)
}

/** Lists a node and its descendants, parents first. */
export function* listNodes(node: ASTNode): Generator<ASTNode> {
  yield node
  for (const child of childNodes(node.args)) yield* listNodes(child)
}

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
  /** Without the receiver of a method. */
  readonly args: readonly ASTNode[]
}

export function readCall(node: ASTNode): Call | undefined {
  if (node.op === 'call') return { node, name: node.args[0], args: node.args[1] }
  return node.op === 'rcall' ? { node, name: node.args[0], args: node.args[2] } : undefined
}

export function readText({ op, args }: ASTNode): string | undefined {
  return op === 'value' && typeof args === 'string' ? args : undefined
}
