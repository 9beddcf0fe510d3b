import { Environment, ParseError, type ASTNode } from '@marcbachmann/cel-js'
import { LRUCache } from 'lru-cache'
import { childNodes, findPatternMistakes } from './syntax-tree.ts'
import { readLibraryError, type ConditionError } from './condition-errors.ts'
import { celFunctions, conditionFunctions, loopFunctions } from './condition-functions.ts'
import { findReplacement, timeFields, timeFunctions } from './times.ts'
import { conditionTypes, conditionVariables, type ConditionVariable } from './condition-variables.ts'
import { isConditionFact, type ConditionFact, type ConditionInput } from './authorization-request.ts'
import { pendingFactError } from './fact.ts'
import { suggestSimilar } from '../../lib/suggest-similar.ts'

/** What a policy requires of commits, as plain data; its JSON is the text of the condition. */
export type RequirementData =
  | { readonly metadata: readonly string[] }
  | { readonly folders: readonly string[] }

export interface Condition {
  /** Canonical: equal for equivalent conditions of one kind. Part of the policy revision. */
  readonly text: string
  readonly facts: readonly ConditionFact[]
  readonly readsId: boolean
  /** Tags that the condition asks for. */
  readonly tags: readonly string[]
  /** Texts that probably mean a pattern, and are none: for `lint`. */
  readonly patternMistakes?: readonly string[]
  readonly requirement?: RequirementData
  /**
   * Returns whether the condition is true. Throws MissingFactError if the result depends on an unknown or pending fact;
   * any other error is a failure of the condition.
   */
  readonly evaluate: (input: ConditionInput) => boolean
}

const maxLength = 2000

/** Besides this file, only `times.ts` and `condition-errors.ts` use cel-js. */
const environment = new Environment({
  limits: { maxAstNodes: 300, maxDepth: 24, maxListElements: 100, maxMapEntries: 20, maxCallArguments: 4 },
})
for (const [name, type] of Object.entries(conditionTypes)) environment.registerType(name, type)
for (const [name, { type }] of Object.entries(conditionVariables)) environment.registerVariable(name, type)
for (const { signature, call } of conditionFunctions.values()) environment.registerFunction(signature, call)
for (const { overloads } of timeFunctions.values())
  for (const [signature, call] of overloads) environment.registerFunction(signature, call)

/** Many rules have equal conditions. */
const compiled = new LRUCache<string, Condition | ConditionError>({ max: 1000 })

/** The limits on length and syntax bound the cost of an evaluation. */
export function compileCondition(text: string): Condition | ConditionError {
  let result = compiled.get(text)
  if (result === undefined) compiled.set(text, (result = compile(text)))
  return result
}

function compile(text: string): Condition | ConditionError {
  if (text.length > maxLength) {
    return { index: 0, message: `is ${text.length} characters long; expected at most ${maxLength}` }
  }
  try {
    const evaluate = environment.parse(text)
    const names = new Set<string>()
    const tags = new Set<string>()
    const error = findUnsupported(evaluate.ast, names, undefined) ?? findTags(evaluate.ast, tags)
    if (error !== undefined) return error
    const { valid, type, error: typeError } = evaluate.check()
    if (!valid) return readLibraryError(typeError, text)
    if (type !== 'bool')
      return { index: 0, message: `is of type ${type}; expected a comparison, of type bool` }
    return (
      findFailingConstant(evaluate.ast, text) ??
      createCondition(text, parseCondition(text), names, [...tags], evaluate.ast)
    )
  } catch (error) {
    return readLibraryError(error, text)
  }
}

export function isConditionError(result: Condition | ConditionError): result is ConditionError {
  return 'message' in result
}

function createCondition(
  text: string,
  evaluate: (scope: object) => unknown,
  names: ReadonlySet<string>,
  tags: readonly string[],
  syntaxTree: ASTNode,
): Condition {
  const read = Object.entries(conditionVariables).filter(([name]) => names.has(name))
  const reads = (source: string): boolean => read.some(([, variable]) => variable.source === source)
  const Scope = createScopeClass(read, tags)
  return {
    text,
    facts: read.map(([name]) => name).filter(isConditionFact),
    readsId: reads('object'),
    tags,
    patternMistakes: findPatternMistakes(syntaxTree),
    evaluate(input) {
      const scope = new Scope(input)
      try {
        const result = evaluate(scope)
        if (typeof result !== 'boolean') throw new Error('the result of the condition is not a boolean')
        return result
      } catch (error) {
        // With another value of the pending fact, the part that failed might not matter.
        throw scope.readPending ? pendingFactError : error
      }
    },
  }
}

/**
 * Variables are lazy getters: CEL ignores an error in an operand if the other operand decides an `||` or `&&`, so a
 * missing fact matters only if it is read.
 */
function createScopeClass(read: readonly (readonly [string, ConditionVariable])[], tags: readonly string[]) {
  class Scope {
    readonly input: ConditionInput
    readPending = false
    constructor(input: ConditionInput) {
      this.input = input
    }
  }
  for (const [name, variable] of read) {
    Object.defineProperty(Scope.prototype, name, {
      get(this: Scope) {
        try {
          return variable.read(this.input, tags)
        } catch (error) {
          this.readPending ||= error === pendingFactError
          throw error
        }
      },
    })
  }
  return Scope
}

/**
 * Parses a text with the functions that cel-js does not let one replace; its errors do not name those that were written.
 * Returns its syntax tree and what evaluates it with variables by name. Throws ParseError.
 */
export function parseCondition(text: string): ((scope: object) => unknown) & { readonly ast: ASTNode } {
  const evaluate = environment.parse(text)
  replaceTimeFunctions(evaluate.ast)
  return evaluate
}

function replaceTimeFunctions(node: ASTNode): void {
  if (node.op === 'call' || node.op === 'rcall') {
    const [name, ...operands] = node.args
    const args = operands.at(-1)
    node.args[0] = findReplacement(name, Array.isArray(args) && args.length > 0) ?? name
  }
  for (const child of childNodes(node.args)) replaceTimeFunctions(child)
}

/**
 * Finds a part without variables that fails in every request, such as `int("x")` or `1 / 0`. Best effort: a part whose
 * text lacks its outer parentheses cannot be parsed alone.
 */
function findFailingConstant(node: ASTNode, text: string): ConditionError | undefined {
  for (const child of childNodes(node.args)) {
    const error = findFailingConstant(child, text)
    if (error !== undefined) return error
  }
  if (node.op === 'value' || !isConstant(node)) return undefined
  const part = text.slice(node.start, node.end)
  try {
    parseCondition(part)({})
    return undefined
  } catch (error) {
    if (error instanceof ParseError) return undefined
    return errorAt(node, `${part} always fails: ${readLibraryError(error, part).message}`)
  }
}

/** Adds the tags that the condition asks for. They are literals, so that one which no policy declares is found at load. */
function findTags(node: ASTNode, tags: Set<string>): ConditionError | undefined {
  if (node.op === 'id' && node.args === 'tags')
    return errorAt(
      node,
      '"tags" is used in another way than "NAME" in tags; expected for example "pii" in tags',
    )
  if (node.op === 'in') {
    const [name, list] = node.args
    if (list.op === 'id' && list.args === 'tags' && name.op === 'value' && typeof name.args === 'string') {
      tags.add(name.args)
      return undefined
    }
  }
  for (const child of childNodes(node.args)) {
    const error = findTags(child, tags)
    if (error !== undefined) return error
  }
  return undefined
}

function isConstant(node: ASTNode): boolean {
  return node.op !== 'id' && [...childNodes(node.args)].every(isConstant)
}

/** Rejects syntax that cel-js accepts and conditions must not use; adds the identifiers to `names`. */
function findUnsupported(
  node: ASTNode,
  names: Set<string>,
  loop: ASTNode | undefined,
): ConditionError | undefined {
  if (node.op === 'id') names.add(node.args)
  let inner = loop
  if (node.op === 'call' || node.op === 'rcall') {
    const [name] = node.args
    const error = validateCall(node, name, node.op === 'call' ? node.args[1] : node.args[2])
    if (error !== undefined) return error
    if (loopFunctions.has(name)) {
      if (loop !== undefined) return errorAt(node, `nested "${name}"; only one loop is allowed`)
      inner = node
    }
  }
  for (const child of childNodes(node.args)) {
    const error = findUnsupported(child, names, inner)
    if (error !== undefined) return error
  }
  return undefined
}

/** Functions and operators of other languages. */
const functionsOfOthers = new Map([
  ['matches', 'like'],
  ['not', '!'],
])

function validateCall(node: ASTNode, name: string, args: readonly ASTNode[]): ConditionError | undefined {
  const added = conditionFunctions.get(name)
  const [argument] = args
  if (added !== undefined)
    return validateLiteral(node, argument, `"${name}" takes one string literal`, added.validateArgument)
  if (!celFunctions.includes(name)) {
    const known = [...celFunctions, ...conditionFunctions.keys()]
    const other = functionsOfOthers.get(name)
    const suggestion = other === undefined ? suggestSimilar(name, known) : `; did you mean "${other}"?`
    return errorAt(node, `unknown function "${name}"${suggestion}`)
  }
  const time = timeFunctions.get(name)
  if (time === undefined || argument === undefined) return undefined
  if (timeFields.has(name)) {
    const expected = `"${name}" takes a time zone as one string literal, or nothing for UTC`
    return validateLiteral(node, argument, expected, time.validateArgument)
  }
  if (argument.op !== 'value' || typeof argument.args !== 'string') return undefined
  const problem = time.validateArgument(argument.args)
  if (problem === undefined) return undefined
  return errorAt(argument, `${JSON.stringify(argument.args)} is not a ${name}: ${problem}`)
}

/** A literal is validated at load; one of the request could make an evaluation fail, or cost much. */
function validateLiteral(
  node: ASTNode,
  argument: ASTNode | undefined,
  expected: string,
  validate: (text: string) => string | undefined,
): ConditionError | undefined {
  if (argument?.op !== 'value' || typeof argument.args !== 'string')
    return errorAt(argument ?? node, expected)
  const error = validate(argument.args)
  return error === undefined ? undefined : errorAt(argument, error)
}

function errorAt({ start }: ASTNode, message: string): ConditionError {
  return { index: start, message }
}
