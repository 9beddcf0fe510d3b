export interface JsonArrowDataType {
  readonly type: string
  readonly fields?: readonly JsonArrowField[]
  /** Bytes of a `fixed_size_binary`, items of a `fixed_size_list`, `precision * 1000 + scale` of a decimal. */
  readonly length?: number
}

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

/** `namespace`: names of the API (`utf8`), without units. `lance`: names of the remote client (`timestamp:us:UTC`). */
export type SchemaDialect = 'namespace' | 'lance'
