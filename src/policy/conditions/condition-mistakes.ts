import { ParseError, type ASTNode } from '@marcbachmann/cel-js'
import type { Permission } from '../../catalog-api/index.ts'
import { validateTimestamp } from '../../lib/index.ts'
import { childNodes, listNodes, parseCondition, readCall, readText } from './condition.ts'
import { factsStatedFor, listWords } from './permission-facts.ts'
import { describeRegularExpression } from './name-pattern.ts'

const hourMs = 60 * 60 * 1000
/** A year: parts on the time are tried throughout it, and a grant that ends later has no end that anybody waits for. */
export const maxDays = 366
const yearMs = maxDays * 24 * hourMs
const always = 'is always true'
/** Not a whole hour, so that each hour of the day is tried with all minutes, and each minute with all seconds. */
const stepMs = hourMs + 1_000
const otherName = 'other'

/**
 * Describes the smallest parts of a condition that have the same result in every request for the permissions, in the next
 * 366 days. Tried are parts that read one variable of which is known what requests can state.
 */
export function describeConstantParts(
  condition: string,
  permissions: readonly Permission[],
  now: number,
): readonly string[] {
  function listStated(variable: string, part: ASTNode): Iterable<unknown> | undefined {
    const literals = listTexts(part)
    switch (variable) {
      case 'now':
        return listTimes(literals, now)
      case 'operation':
        return permissions
      case 'mode':
      case 'behavior': {
        const stating = permissions.filter((permission) => factsStatedFor(permission).has(variable))
        return stating.length === 0 ? undefined : ['', ...listWords(variable, stating)]
      }
      case 'branch':
        // Git and catalogs know one main branch, in lower case.
        return isJoined(part)
          ? undefined
          : [otherName, ...literals.filter((text) => !/^main$/i.test(text) || text === 'main')]
      case 'context':
        return isJoined(part) ? undefined : listContexts(literals)
      default:
        return undefined
    }
  }

  function describe(part: ASTNode): readonly string[] {
    const inner = [...childNodes(part.args)].flatMap(describe)
    if (inner.length > 0) return inner
    const [variable, ...others] = new Set(listVariables(part))
    if (variable === undefined || others.length > 0) return []
    const during = variable === 'now' ? ` in the next ${maxDays} days` : ''
    return listAlternatives(part, condition).flatMap((text) => {
      const stated = listStated(variable, part)
      const result = stated && findConstant(text, variable, stated)
      // What has begun within a year, such as a freeze, is no mistake.
      const isNew =
        during !== '' &&
        result === always &&
        findConstant(text, variable, listTimes([], now - yearMs)) !== always
      const counted = /\bget(?:Month|DayOfMonth|DayOfYear)(?=\()/.exec(text)?.[0]
      const hint = counted === undefined ? '' : `; ${counted} counts from 0`
      return result === undefined || isNew ? [] : [`${text} ${result}${during}${hint}`]
    })
  }

  const { ast } = parseCondition(condition)
  return [...describe(ast), ...describeUnguarded(ast)]
}

/** The text of a part; of a list of values one for each, which may be mistaken alone. */
function listAlternatives({ op, args, start, end }: ASTNode, condition: string): readonly string[] {
  if (op !== 'in' || args[1].op !== 'list') return [condition.slice(start, end)]
  const [value, list] = args
  return list.args.map(
    (item) => `${condition.slice(value.start, value.end)} in [${condition.slice(item.start, item.end)}]`,
  )
}

/** Describes the result of a part that has the same one with all values of its variable; undefined for another part. */
function findConstant(text: string, variable: string, stated: Iterable<unknown>): string | undefined {
  const results = new Set<string | undefined>()
  try {
    const evaluate = parseCondition(text)
    for (const value of stated) {
      results.add(describeResult(() => evaluate({ [variable]: value })))
      if (results.size > 1) return undefined
    }
  } catch (error) {
    // A part whose text lacks its outer parentheses.
    if (!(error instanceof ParseError)) throw error
  }
  return [...results][0]
}

/** Returns undefined if the result is no boolean. */
function describeResult(evaluate: () => unknown): string | undefined {
  try {
    const result = evaluate()
    if (typeof result !== 'boolean') return undefined
    return result ? always : 'is never true'
  } catch {
    return 'always fails'
  }
}

function isJoined({ op }: ASTNode): boolean {
  return op === '&&' || op === '||' || op === '?:'
}

function* listTimes(literals: readonly string[], now: number): Generator<Date> {
  const end = now + yearMs
  for (let time = now; time < end; time += stepMs) yield new Date(time)
  const named = literals.filter((text) => validateTimestamp(text) === undefined).map(Date.parse)
  for (const time of named.flatMap((at) => [at - 1, at, at + 1]))
    if (time >= now && time < end) yield new Date(time)
}

/** Contexts with all keys that headers can have, whatever their value. Names of headers are lower-case here. */
function* listContexts(literals: readonly string[]): Generator<ReadonlyMap<string, string>> {
  yield new Map()
  const keys = literals.filter((text) => /^[a-z0-9_-]+$/.test(text) && !text.startsWith('x-catalog-ctx-'))
  for (const value of [otherName, '', ...literals])
    yield new Map([otherName, ...keys].map((key) => [key, value]))
}

/** Lists the literal texts and the names of members. */
function listTexts(part: ASTNode): readonly string[] {
  return [...listNodes(part)].flatMap((node) => (node.op === '.' ? node.args[1] : (readText(node) ?? [])))
}

function listVariables(part: ASTNode): readonly string[] {
  return [...listNodes(part)].flatMap(({ op, args }) => (op === 'id' ? args : []))
}

/** Describes claims that a condition reads without asking first whether the caller has them. */
function describeUnguarded(condition: ASTNode): readonly string[] {
  const nodes = [...listNodes(condition)]
  const asked = nodes.flatMap((node) => {
    const call = readCall(node)
    return call?.name === 'has' ? call.args : []
  })
  const guarded = nodes.flatMap((node) => {
    if (node.op === 'in' && isClaims(node.args[1])) return listTexts(node.args[0])
    return node.op === '.' && isClaims(node.args[0]) && asked.includes(node) ? node.args[1] : []
  })
  const read = nodes.flatMap((node) => {
    if (node.op === '[]' && isClaims(node.args[0])) return listTexts(node.args[1])
    return node.op === '.' && isClaims(node.args[0]) ? node.args[1] : []
  })
  return [...new Set(read)]
    .filter((name) => !guarded.includes(name))
    .map(
      (name) => `fails for callers without the claim "${name}"; begin with has(principal.claims.${name}) &&`,
    )
}

function isClaims({ op, args }: ASTNode): boolean {
  return op === '.' && args[1] === 'claims' && args[0].op === 'id' && args[0].args === 'principal'
}

const comparisons: readonly string[] = ['==', '!=', 'in']
const textFunctions: readonly string[] = ['startsWith', 'endsWith', 'contains']

/** Describes texts with `*` where it is an ordinary character, and regular expressions in `like`. */
export function describePatternMistakes(condition: string): readonly string[] {
  return [...listNodes(parseCondition(condition).ast)].flatMap((node) => {
    const name = readCall(node)?.name ?? node.op
    const operands = [...childNodes(node.args)].flatMap((child) => (child.op === 'list' ? child.args : child))
    const texts = operands.flatMap((operand) => readText(operand) ?? [])
    if (name === 'like') {
      const problems = texts.flatMap((text) => describeRegularExpression(text) ?? [])
      return problems.map((problem) => `in "like", ${problem}`)
    }
    if (!comparisons.includes(name) && !textFunctions.includes(name)) return []
    return texts
      .filter((text) => text.includes('*'))
      .map((text) => JSON.stringify(text))
      .map(
        (text) =>
          `"*" in ${text} is an ordinary character for "${name}"; for any characters, write like(${text})`,
      )
  })
}
