import type { ColumnType, LiteralType } from './column-type.ts'

/** A condition on rows, as `parseFilter` understands it. */
export type FilterExpression =
  | { readonly kind: 'and' | 'or'; readonly parts: readonly FilterExpression[] }
  | { readonly kind: 'not'; readonly part: FilterExpression }
  | { readonly kind: 'constant'; readonly value: boolean }
  /** A boolean column, or a function that returns a boolean. */
  | { readonly kind: 'value'; readonly value: FilterValue }
  | {
      readonly kind: 'comparison'
      readonly operator: ComparisonOperator
      readonly value: FilterValue
      readonly operand: Operand
    }
  | ({ readonly kind: 'in'; readonly operands: readonly Operand[] } & Tested)
  | ({ readonly kind: 'between'; readonly low: Operand; readonly high: Operand } & Tested)
  | ({ readonly kind: 'like'; readonly ignoresCase: boolean; readonly pattern: string } & Tested)
  | ({ readonly kind: 'is'; readonly what: 'null' | 'true' | 'false' } & Tested)

interface Tested {
  readonly value: FilterValue
  readonly isNegated: boolean
}

export type ComparisonOperator = '=' | '<>' | '<' | '<=' | '>' | '>='

/** Something with one value a row. */
export type FilterValue =
  | { readonly kind: 'column'; readonly path: readonly string[]; readonly type: ColumnType | 'unknown' }
  | {
      readonly kind: 'call'
      readonly name: string
      readonly arguments: readonly (FilterValue | Literal)[]
      readonly type: ColumnType
    }

/** `text` is the content of a text, date or timestamp, or the spelling of a number or boolean. */
export interface Literal {
  readonly kind: 'literal'
  readonly type: LiteralType
  readonly text: string
}

/** A fact of the caller, such as `$principal.claims.region`: one text, or for `in` a list of texts. */
export interface CallerVariable {
  readonly kind: 'variable'
  readonly path: readonly string[]
}

export type Operand = Literal | CallerVariable
