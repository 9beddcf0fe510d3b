import type { PolicyProblem } from '../../language/policy-error.ts'
import { fileOfResource } from './resource-text.ts'
import type { Verdict } from './verdict.ts'

/** Lists why resources are refused, with positions if the messages have them. */
export function listRefusals(verdicts: readonly Verdict[]): readonly PolicyProblem[] {
  return verdicts
    .filter(({ reason }) => reason !== 'Accepted')
    .flatMap(({ resource, message }) =>
      message.split('\n').map((line) => ({ file: fileOfResource(resource), ...parsePosition(line) })),
    )
}

function parsePosition(text: string): Omit<PolicyProblem, 'file'> {
  const [, line, column, message] = /^(\d+)(?::(\d+))?: (.*)$/s.exec(text) ?? []
  if (message === undefined) return { message: text }
  return { line: Number(line), ...(column !== undefined && { column: Number(column) }), message }
}
