import { operationNames } from '../../src/catalog-api/operations.ts'
import type { Outcome } from './conformance.ts'

/** Formats the outcomes as a table by operation, followed by the failures with their reasons. */
export function formatOutcomes(outcomes: readonly Outcome[]): string {
  const lines = [line('operation', 'cases', 'passed', 'failed', 'skipped')]
  for (const name of operationNames)
    lines.push(
      row(
        name,
        outcomes.filter(({ operation }) => operation === name),
      ),
    )
  lines.push(row('all', outcomes))
  for (const { operation, title, message } of outcomes.filter(({ result }) => result === 'failed')) {
    lines.push('', `${operation}: ${title}`, message.replaceAll(/^/gm, '  '))
  }
  return `${lines.join('\n')}\n`
}

function row(name: string, outcomes: readonly Outcome[]): string {
  const count = (which: Outcome['result']) => outcomes.filter(({ result }) => result === which).length
  return line(name, outcomes.length, count('passed'), count('failed'), count('skipped'))
}

function line(name: string, ...cells: readonly (string | number)[]): string {
  return name.padEnd(26) + cells.map((cell) => String(cell).padStart(9)).join('')
}
