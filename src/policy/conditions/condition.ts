import { Environment, EvaluationError, type ASTNode } from '@marcbachmann/cel-js'
import type { Permission } from '../../catalog-api/permissions.ts'
import { celFunctions, conditionFunctions, loopFunctions } from './condition-functions.ts'
import { conditionTypes, conditionVariables, type ConditionVariable } from './condition-variables.ts'
import type { ConditionInput, OperationFacts } from './authorization-request.ts'
import { suggestSimilar } from '../../lib/did-you-mean.ts'

/** What must hold for a rule to apply. */
export interface Condition {
  /** What says the same says it in the same words; for the revision. */
  readonly text: string
  /** The facts of the operation that it reads. */
  readonly facts: readonly (keyof OperationFacts)[]
  /** Whether it reads the id of the object, and whether it reads the time. */
  readonly readsId: boolean
  readonly readsTime: boolean
  /** What it denies, if it is a requirement of commits. */
  readonly requirement?: RequirementRestriction
  /**
   * Whether it holds. Throws FactWithoutValue if it depends on a fact that has none; anything else that is thrown is
   * a failure of the condition.
   */
  readonly evaluate: (inquiry: ConditionInput) => boolean
}

/** What a requirement of commits restricts, and the changes of whole tables that it allows all the same. */
export interface RequirementRestriction {
  readonly kind: 'metadata' | 'branches' | 'folders' | 'freeze'
  readonly allowedWholeTable: ReadonlySet<Permission>
}

/** Why a text is no condition: what is wrong, and at which of its characters. */
export interface ConditionError {
  readonly index: number
  readonly message: string
}

const maxLength = 2000

/**
 * What `when` is written in: CEL with the variables and functions of `condition-*.ts`, checked against their types.
 * This is the only place that knows the library.
 */
const environment = new Environment({
  limits: { maxAstNodes: 300, maxDepth: 24, maxListElements: 100, maxMapEntries: 20, maxCallArguments: 4 },
})
for (const [name, type] of Object.entries(conditionTypes)) environment.registerType(name, type)
for (const [name, { type }] of Object.entries(conditionVariables)) environment.registerVariable(name, type)
for (const { signature, call } of conditionFunctions.values()) environment.registerFunction(signature, call)

/** Compiles a condition, or says what is wrong with it. What one evaluation costs is bounded by its length. */
export function compileCondition(text: string): Condition | ConditionError {
  if (text.length > maxLength) {
    return { index: 0, message: `is ${text.length} characters long; expected at most ${maxLength}` }
  }
  try {
    const evaluate = environment.parse(text)
    const names = new Set<string>()
    const fault = findUnsupported(evaluate.ast, names, undefined)
    if (fault !== undefined) return fault
    const { valid, type, error } = evaluate.check()
    if (!valid) return parseLibraryError(error)
    if (type !== 'bool')
      return { index: 0, message: `is of type ${type}; expected a comparison, of type bool` }
    return createCondition(text, evaluate, names)
  } catch (error) {
    return parseLibraryError(error)
  }
}

/** Why a condition could not be told, in one line and without the values of the request. */
export function describeConditionError(error: unknown): string {
  if (error instanceof EvaluationError) return error.code
  return error instanceof Error ? error.message : 'not an error'
}

/** Whether compiling found a fault. */
export function isConditionError(result: Condition | ConditionError): result is ConditionError {
  return 'message' in result
}

function createCondition(
  text: string,
  evaluate: (scope: object) => unknown,
  names: ReadonlySet<string>,
): Condition {
  const read = Object.entries(conditionVariables).filter(([name]) => names.has(name))
  const reads = (source: string): boolean => read.some(([, variable]) => variable.source === source)
  const Scope = createScopeClass(read)
  return {
    text,
    facts: read.filter(([, { source }]) => source === 'fact').map(([name]) => name as keyof OperationFacts),
    readsId: reads('object'),
    readsTime: reads('time'),
    evaluate(inquiry) {
      const result = evaluate(new Scope(inquiry))
      if (typeof result !== 'boolean') throw new Error('the result of the condition is not a boolean')
      return result
    },
  }
}

/**
 * The variables of a condition, each read only if the evaluation comes to it: CEL takes no notice of an error beside
 * what decides an `||` or `&&`, and so of no fact without a value.
 */
function createScopeClass(read: readonly (readonly [string, ConditionVariable])[]) {
  class Scope {
    readonly inquiry: ConditionInput
    constructor(inquiry: ConditionInput) {
      this.inquiry = inquiry
    }
  }
  for (const [name, variable] of read) {
    Object.defineProperty(Scope.prototype, name, {
      get(this: Scope) {
        return variable.read(this.inquiry)
      },
    })
  }
  return Scope
}

/** What the library would accept and we do not; collects the names on the way. */
function findUnsupported(
  node: ASTNode,
  names: Set<string>,
  loop: ASTNode | undefined,
): ConditionError | undefined {
  if (node.op === 'id') names.add(node.args)
  let inner = loop
  if (node.op === 'call' || node.op === 'rcall') {
    const [name] = node.args
    const error = validateCall(node, name, node.args.at(-1) as readonly ASTNode[])
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

function validateCall(node: ASTNode, name: string, stated: readonly ASTNode[]): ConditionError | undefined {
  const own = conditionFunctions.get(name)
  if (own === undefined) {
    if (!celFunctions.includes(name)) {
      const known = [...celFunctions, ...conditionFunctions.keys()]
      const suggestion = name === 'matches' ? '; did you mean "like"?' : suggestSimilar(name, known)
      return errorAt(node, `unknown function "${name}"${suggestion}`)
    }
    if (name.startsWith('get') && stated.length > 0)
      return errorAt(node, `"${name}" takes no time zone; times are in UTC`)
    return undefined
  }
  const [argument] = stated
  if (argument?.op !== 'value' || typeof argument.args !== 'string') {
    return errorAt(argument ?? node, `"${name}" takes one string literal`)
  }
  const error = own.validateArgument(argument.args)
  return error === undefined ? undefined : errorAt(argument, error)
}

function errorAt({ start }: ASTNode, message: string): ConditionError {
  return { index: start, message }
}

function* childNodes(value: unknown): Generator<ASTNode> {
  if (Array.isArray(value)) {
    for (const item of value) yield* childNodes(item)
  } else if (typeof value === 'object' && value !== null && 'op' in value) {
    yield value as ASTNode
  }
}

/** A fault that the library found, with its place, and with a suggestion where a name is not known. */
function parseLibraryError(error: unknown): ConditionError {
  const { code, summary, range } = error as EvaluationError
  if (summary === undefined) throw error
  const unknown = /^(?:Unknown variable|No such key): (\w+)$/.exec(summary)?.[1]
  const fields = Object.values(conditionTypes).flatMap(({ fields }) => Object.keys(fields))
  const candidates = code === 'unknown_variable' ? Object.keys(conditionVariables) : fields
  const suggestion = unknown === undefined ? '' : suggestSimilar(unknown, candidates)
  const text = summary.charAt(0).toLowerCase() + summary.slice(1)
  return { index: range?.start ?? 0, message: text + suggestion }
}
