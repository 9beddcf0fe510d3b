import { EvaluationError, ParseError, TypeError as CelTypeError } from '@marcbachmann/cel-js'
import { suggestSimilar } from '../../lib/index.ts'
import { conditionTypes, conditionVariables } from './condition-variables.ts'

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

/** Describes why a condition failed, on one line and without values of the request. */
export function describeConditionError(error: unknown): string {
  if (error instanceof EvaluationError) return error.code
  return error instanceof Error ? error.message : 'not an error'
}

/** Adds what was probably meant. Rethrows errors of anything but cel-js. */
export function readLibraryError(error: unknown, condition: string): ConditionError {
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
