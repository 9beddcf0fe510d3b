import { CatalogError, invalidInput, type JsonArrowDataType } from 'catalog-gateway/catalog-api'

/** Type names that differ between the catalog API and the Lance format. The default unit is microseconds. */
const lanceNames = new Map([
  ['boolean', 'bool'],
  ['utf8', 'string'],
  ['large_utf8', 'large_string'],
  ['float16', 'halffloat'],
  ['float32', 'float'],
  ['float64', 'double'],
  ['date32', 'date32:day'],
  ['date64', 'date64:ms'],
  ['timestamp', 'timestamp:us:-'],
  ['duration', 'duration:us'],
])

/** Names that lack required parameters. */
const incompleteNames = new Set(['time32', 'time64', 'interval', 'union', 'dictionary'])

/** Accepts types already in that form. Omits metadata. Throws InvalidInput for an ambiguous name, Unsupported for a missing type. */
export function toLanceType(dataType: JsonArrowDataType): JsonArrowDataType {
  const { type, fields, length } = dataType
  const lower = type.toLowerCase()
  if (incompleteNames.has(lower)) {
    throw invalidInput(
      `data_type ${type} is incomplete; expected the name of the Lance format with its units`,
    )
  }
  const decimal = /^decimal(\d+)$/.exec(lower)?.[1]
  if (decimal !== undefined) return { type: toDecimalType(decimal, length) }
  return {
    // Lance type names contain time zones, which are case-sensitive.
    type: lanceNames.get(lower) ?? type,
    ...(length !== undefined && { length }),
    ...(fields && {
      fields: fields.map(({ name, nullable, type: of }) => ({ name, nullable, type: toLanceType(of) })),
    }),
  }
}

function toDecimalType(bits: string, length: number | undefined): string {
  if (bits !== '128' && bits !== '256') {
    throw new CatalogError('Unsupported', `data_type decimal${bits}: the Lance format has no such type`)
  }
  if (length === undefined) {
    throw invalidInput(`data_type decimal${bits}: expected a length of precision * 1000 + scale`)
  }
  return `decimal:${bits}:${Math.floor(length / 1000)}:${length % 1000}`
}
