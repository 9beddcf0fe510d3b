/*
 * Metadata of Arrow schemas and fields. Catalogs and their engines take settings, types and code from keys in some name
 * spaces: a table whose schema has `mv.definition` is a materialized view of the query in it. So keys there are accepted
 * by an allow-list. All others are data of the caller.
 */

export const extensionNameKey = 'ARROW:extension:name'

/** Makes a column a blob column, whose values can name objects: engines convert strings to such names. */
const blobKey = 'lance-encoding:blob'

const reservedSpaces =
  /^(?:(?:arrow|geneva|lance(?:db)?(?:[-_][a-z]+)?|mv)[:.]|(?:computed|materialized|virtual)[-_](?:column|refresh|view)(?:$|[:._-]))/

/** Keys in these name spaces that only describe a column, encode its values, or state a key of the table. */
const knownKeys: ReadonlySet<string> = new Set([
  extensionNameKey,
  'ARROW:extension:metadata',
  blobKey,
  'lance-encoding:blob-dedicated-size-threshold',
  'lance-encoding:blob-inline-size-threshold',
  'lance-encoding:blob-pack-file-size-threshold',
  'lance-encoding:bss',
  'lance-encoding:compression',
  'lance-encoding:compression-level',
  'lance-encoding:dict-divisor',
  'lance-encoding:dict-max-size',
  'lance-encoding:dict-size-ratio',
  'lance-encoding:dict-values-compression',
  'lance-encoding:dict-values-compression-level',
  'lance-encoding:minichunk-size',
  'lance-encoding:packed',
  'lance-encoding:rle-threshold',
  'lance-encoding:structural-encoding',
  'lance-schema:unenforced-clustering-key:position',
  'lance-schema:unenforced-primary-key',
  'lance-schema:unenforced-primary-key:position',
  'lancedb::column_definitions',
  'lancedb:description',
  'lancedb:logical-column',
  'lancedb:status',
])

const tagPrefix = 'lancedb:tag:'

/** Whether a key is in a name space of catalogs, in any case. */
export function isReservedMetadata(key: string): boolean {
  return reservedSpaces.test(key.trim().toUpperCase().toLowerCase())
}

/** Whether a reserved key is accepted: it gives a table nothing that its columns do not have. */
export function isKnownMetadata(key: string): boolean {
  return knownKeys.has(key) || key.startsWith(tagPrefix)
}

/** Whether a key is an extension name in another spelling than that of Arrow. */
export function isMisspelledExtensionName(key: string): boolean {
  return key !== extensionNameKey && key.trim().toUpperCase() === extensionNameKey.toUpperCase()
}

/** Whether the values of a column with this metadata key can name objects. */
export function isReferenceMetadata(key: string): boolean {
  return key === blobKey
}

/** Arrow extension types whose values hold all of themselves. */
const valueTypes: ReadonlySet<string> = new Set([
  ...values('arrow', [
    'bool8',
    'fixed_shape_tensor',
    'json',
    'opaque',
    'parquet.variant',
    'timestamp_with_offset',
    'uuid',
    'variable_shape_tensor',
  ]),
  ...values('geoarrow', [
    'box',
    'geometry',
    'geometrycollection',
    'linestring',
    'multilinestring',
    'multipoint',
    'multipolygon',
    'point',
    'polygon',
    'wkb',
    'wkt',
  ]),
  // Only clients read the objects that image URIs name.
  ...values('lance', [
    'arrow.encoded_image',
    'arrow.fixed_shape_image_tensor',
    'arrow.image_uri',
    'bfloat16',
    'json',
  ]),
  ...values('ogc', ['wkb']),
  ...values('pandas', ['interval', 'period']),
  ...values('datasets.features.features', [
    'Array2DExtensionType',
    'Array3DExtensionType',
    'Array4DExtensionType',
    'Array5DExtensionType',
  ]),
])

function values(space: string, names: readonly string[]): readonly string[] {
  return names.map((name) => `${space}.${name}`)
}

export function isValueType(name: string): boolean {
  return valueTypes.has(name)
}

/** Whether values of the extension type can name an object, which the server reads with its own credential. */
export function isReferenceType(name: string): boolean {
  return name === 'lance.blob.v2'
}
