/** A type of the JSON form of an Arrow schema: the name of the type and what it needs besides. */
export interface JsonArrowDataType {
  readonly type: string
  /** The children of a nested type. */
  readonly fields?: readonly JsonArrowField[]
  /** Bytes of a `fixed_size_binary`, items of a `fixed_size_list`; of a decimal `precision * 1000 + scale`. */
  readonly length?: number
}

/** A column, or a child of a nested one, in the JSON form of an Arrow schema. */
export interface JsonArrowField {
  readonly name: string
  readonly type: JsonArrowDataType
  readonly nullable: boolean
  readonly metadata?: Readonly<Record<string, string>>
}

/** The JSON form of an Arrow schema, as DescribeTable answers it. */
export interface JsonArrowSchema {
  readonly fields: readonly JsonArrowField[]
  readonly metadata?: Readonly<Record<string, string>>
}

/**
 * The two vocabularies of type names. `namespace`: the names of the interface (`utf8`, `timestamp`; units and
 * time zones are lost). `lance`: the logical names that the remote client of the engine parses (`string`,
 * `timestamp:us:UTC`).
 */
export type SchemaDialect = 'namespace' | 'lance'
