import { operationNames } from '../../src/catalog-api/operations.ts'
import type { Outcome, Result } from './conformance.ts'

const maxMessageLines = 12
const sections: readonly [Result, string][] = [
  ['failed', 'Does differently'],
  ['missing', 'Lacks'],
  ['skipped', 'Not tested'],
]

/** Formats the outcomes as a table by operation, followed by what did not pass, each with its reason. */
export function formatOutcomes(outcomes: readonly Outcome[]): string {
  const lines = [line('operation', 'cases', 'passed', 'failed', 'missing', 'skipped', 'verdict')]
  for (const name of operationNames)
    lines.push(
      row(
        name,
        outcomes.filter(({ operation }) => operation === name),
      ),
    )
  lines.push(row('all', outcomes))
  for (const [which, heading] of sections) {
    const found = outcomes.filter(({ result }) => result === which)
    if (found.length === 0) continue
    lines.push('', `${heading}:`)
    for (const { operation, title, message } of found) lines.push(`${operation}: ${title}`, indent(message))
  }
  return `${lines.join('\n')}\n`
}

function row(name: string, outcomes: readonly Outcome[]): string {
  const count = (which: Result) => outcomes.filter(({ result }) => result === which).length
  const counts = (['passed', 'failed', 'missing', 'skipped'] as const).map(count)
  return line(name, outcomes.length, ...counts, verdictOf(outcomes.length, count))
}

function verdictOf(cases: number, count: (which: Result) => number): string {
  // A server may refuse a bad request to a missing operation for another reason, such as its method.
  if (count('missing') > count('failed')) return 'lacks'
  if (count('failed') > 0) return 'differs'
  return count('skipped') === cases ? 'untested' : 'has'
}

function line(name: string, ...cells: readonly (string | number)[]): string {
  return name.padEnd(26) + cells.map((cell) => String(cell).padStart(10)).join('')
}

function indent(message: string): string {
  return message.split('\n').slice(0, maxMessageLines).join('\n').replaceAll(/^/gm, '  ')
}
