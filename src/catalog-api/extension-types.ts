/**
 * Arrow extension types by the meaning of their values. `values`: a value holds all of itself. `references`: a value can
 * name an object, which the server reads with its own credential.
 */
type ExtensionTypeKind = 'values' | 'references'

const extensionTypes: ReadonlyMap<string, ExtensionTypeKind> = new Map([
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
  ['lance.blob.v2', 'references'],
])

function values(space: string, names: readonly string[]): (readonly [string, ExtensionTypeKind])[] {
  return names.map((name) => [`${space}.${name}`, 'values'])
}

/** Returns what the values of an extension type can be; undefined for a type that is not known. */
export function findExtensionTypeKind(name: string): ExtensionTypeKind | undefined {
  return extensionTypes.get(name)
}
