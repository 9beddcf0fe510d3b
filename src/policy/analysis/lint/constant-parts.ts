import { ParseError, type ASTNode } from '@marcbachmann/cel-js'
import type { Permission } from '../../../catalog-api/index.ts'
import { validateTimestamp } from '../../../lib/index.ts'
import { childNodes, listNodes, parseCondition, readText } from '../../conditions/condition.ts'
import { factsStatedFor, listWords } from '../../conditions/permission-facts.ts'
import { contextKeyForm, describeContextKey } from '../../language/written-request.ts'

const hourMs = 60 * 60 * 1000
/** A year: parts on the time are tried throughout it, and a grant that ends later has no end that anybody waits for. */
export const maxDays = 366
export const yearMs = maxDays * 24 * hourMs
const always = 'is always true'
/** Not a whole hour, so that each hour of the day is tried with all minutes, and each minute with all seconds. */
const stepMs = hourMs + 1_000
const otherName = 'other'

/**
 * Describes the smallest parts of a condition that have the same result in every request for the permissions, in the next
 * 366 days. Only parts that read one variable are tried, if its possible values are known.
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
      // A condition that became true within a year, such as a freeze, is no mistake.
      const isNew =
        during !== '' &&
        result === always &&
        findConstant(text, variable, listTimes([], now - yearMs)) !== always
      return result === undefined || isNew ? [] : [`${text} ${result}${during}${hintAbout(variable, text)}`]
    })
  }

  return describe(parseCondition(condition).ast)
}

/** A hint about a common mistake in such a part; empty if none is known. */
function hintAbout(variable: string, part: string): string {
  const counted = /\bget(?:Month|DayOfMonth)(?=\()/.exec(part)?.[0]
  if (counted !== undefined) return `; ${counted} counts from 0`
  return variable === 'context' ? `; its keys are ${contextKeyForm}` : ''
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

/** Contexts with all keys that headers can have, each with any value. Names of headers are lower-case here. */
function* listContexts(literals: readonly string[]): Generator<ReadonlyMap<string, string>> {
  yield new Map()
  const keys = literals.filter((text) => /^[a-z0-9_-]+$/.test(text) && describeContextKey(text) === undefined)
  for (const value of [otherName, '', ...literals])
    yield new Map([otherName, ...keys].map((key) => [key, value]))
}

export function listTexts(part: ASTNode): readonly string[] {
  return [...listNodes(part)].flatMap((node) => (node.op === '.' ? node.args[1] : (readText(node) ?? [])))
}

function listVariables(part: ASTNode): readonly string[] {
  return [...listNodes(part)].flatMap(({ op, args }) => (op === 'id' ? args : []))
}
