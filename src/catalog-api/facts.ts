/** The value of a fact, by its type; `word` is one of a closed set. */
interface FactValues {
  readonly word: string
  readonly text: string
  readonly branch: string
  readonly tag: string
  readonly names: readonly string[]
  readonly map: ReadonlyMap<string, string>
  readonly flag: boolean
}

export type FactType = keyof FactValues

/** Types of the values that a request states and policies decide on; the operations table defines their sources. */
export const factTypes = {
  /** Lower case and without underscores: `overwrite`, `existok`. */
  mode: 'word',
  /** Lower case: `restrict`, `cascade`. */
  behavior: 'word',
  branch: 'branch',
  /** Branch that is copied, compared or applied. */
  sourceBranch: 'branch',
  tag: 'tag',
  /** Namespace that a table is moved to. */
  newNamespace: 'names',
  newName: 'text',
  manifestPath: 'text',
  location: 'text',
  metadata: 'map',
  properties: 'map',
  storageOptions: 'map',
  vendCredentials: 'flag',
  /** Whether a merge deletes rows that no uploaded row matches. */
  deletesUnmatched: 'flag',
} as const satisfies Record<string, FactType>

export type FactName = keyof typeof factTypes

/** Facts of a request. Facts that it does not state are absent. */
export type StatedFacts = { readonly [Name in FactName]?: FactValues[(typeof factTypes)[Name]] }

export function omitUndefinedFacts(facts: {
  readonly [Name in FactName]?: StatedFacts[Name] | undefined
}): StatedFacts {
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined))
}

export type FactOfType<Type extends FactType> = {
  [Name in FactName]: (typeof factTypes)[Name] extends Type ? Name : never
}[FactName]

export function hasFactType<Type extends FactType>(
  fact: FactName,
  ...types: readonly Type[]
): fact is FactOfType<Type> {
  return types.some((type) => type === factTypes[fact])
}

/**
 * A source of a fact: a query parameter, a header (by its role, in any dialect), a member of the JSON body or of its
 * object `query`, or a key of the fact `properties`, which is read before.
 */
export type FactSourcePath =
  | `query.${string}`
  | 'header.location'
  | 'header.properties'
  | `body.${string}`
  | 'properties.location'

export interface FactSource {
  readonly in: 'query' | 'header' | 'body' | 'body.query' | 'properties'
  readonly name: string
}

export function parseFactSource(path: FactSourcePath): FactSource {
  const dot = path.lastIndexOf('.')
  const part = path.slice(0, dot)
  if (!isFactSourcePart(part)) throw new Error(`${path} is not a source of a fact`)
  return { in: part, name: path.slice(dot + 1) }
}

function isFactSourcePart(part: string): part is FactSource['in'] {
  return Object.hasOwn(sourceDescriptions, part)
}

/** Describes a source for messages: `the query parameter "branch"`. */
export function describeFactSource({ in: part, name }: FactSource): string {
  return sourceDescriptions[part](name)
}

const sourceDescriptions: Readonly<Record<FactSource['in'], (name: string) => string>> = {
  query: (name) => `the query parameter "${name}"`,
  header: (name) => `the header "x-catalog-table-${name}"`,
  body: (name) => `the member "${name}" of the body`,
  'body.query': (name) => `the member "query.${name}" of the body`,
  properties: (name) => `"${name}" among the properties`,
}

/** Canonical form of a mode or behavior: `ExistOk`, `exist_ok` and LanceDB's `"\"ExistOk\""` become `existok`. */
export function canonicalizeWord(text: string): string {
  return text
    .replace(/^"(.*)"$/, '$1')
    .replaceAll('_', '')
    .toLowerCase()
}

/** Canonical form of a branch: absent and empty become `main`. */
export function canonicalizeBranch(branch: string | undefined): string {
  return branch === undefined || branch === '' ? 'main' : branch
}
