/** A type in the JSON form of an Arrow schema: its name and parameters. */
export interface JsonArrowDataType {
  readonly type: string
  /** The children of a nested type. */
  readonly fields?: readonly JsonArrowField[]
  /** Bytes of a `fixed_size_binary`, items of a `fixed_size_list`, `precision * 1000 + scale` of a decimal. */
  readonly length?: number
}

/** A column, or a child of a nested one, in the JSON form of an Arrow schema. */
export interface JsonArrowField {
  readonly name: string
  readonly type: JsonArrowDataType
  readonly nullable: boolean
  readonly metadata?: Readonly<Record<string, string>>
}

/** The JSON form of an Arrow schema in responses to DescribeTable. */
export interface JsonArrowSchema {
  readonly fields: readonly JsonArrowField[]
  readonly metadata?: Readonly<Record<string, string>>
}

/**
 * The two sets of type names. `namespace`: the names of the interface (`utf8`, `timestamp`), without units and time
 * zones. `lance`: the logical names that the engine's remote client parses (`string`, `timestamp:us:UTC`).
 */
export type SchemaDialect = 'namespace' | 'lance'
