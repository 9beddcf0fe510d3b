/**
 * What a request states about itself and policies decide on. The table of operations says which facts an operation
 * has and where a request states each of them; nothing else reads a request for a policy.
 */
interface FactValues {
  /** Lower case and without underscores: `overwrite`, `existok`. */
  readonly mode: string
  /** Lower case: `restrict`, `cascade`. */
  readonly behavior: string
  readonly branch: string
  /** The branch that a new branch copies. */
  readonly sourceBranch: string
  readonly tag: string
  /** The namespace that a table is moved to. */
  readonly newNamespace: readonly string[]
  readonly newName: string
  /** The staging manifest of a version. */
  readonly manifestPath: string
  /** Where in storage an object lies. */
  readonly location: string
  /** What is recorded with a version. */
  readonly metadata: ReadonlyMap<string, string>
  /** What is recorded with a namespace or a table. */
  readonly properties: ReadonlyMap<string, string>
  /** How the storage of a table is reached. */
  readonly storageOptions: ReadonlyMap<string, string>
  readonly vendCredentials: boolean
  /** Whether a merge deletes rows that no uploaded row matches. */
  readonly deletesUnmatched: boolean
}

/** The name of a fact. */
export type FactName = keyof FactValues

/** The facts that a request states; one that it does not state is absent. */
export type StatedFacts = { readonly [Name in FactName]?: FactValues[Name] }

/** Facts without those that are undefined. */
export function omitUndefinedFacts(facts: {
  readonly [Name in FactName]?: FactValues[Name] | undefined
}): StatedFacts {
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined))
}

/** The form of a fact; `word` is one of a closed set. */
export type FactType = 'word' | 'text' | 'branch' | 'tag' | 'names' | 'map' | 'flag'

/** The form of each fact. */
export const factTypes = {
  mode: 'word',
  behavior: 'word',
  branch: 'branch',
  sourceBranch: 'branch',
  tag: 'tag',
  newNamespace: 'names',
  newName: 'text',
  manifestPath: 'text',
  location: 'text',
  metadata: 'map',
  properties: 'map',
  storageOptions: 'map',
  vendCredentials: 'flag',
  deletesUnmatched: 'flag',
} as const satisfies Record<FactName, FactType>

/**
 * Where a request states a fact: a query parameter, a header (by its meaning, whatever the dialect), a member of the
 * JSON body or of the object `query` in it, or a key of the fact `properties`.
 */
export type FactSourcePath =
  | `query.${string}`
  | 'header.location'
  | 'header.properties'
  | `body.${string}`
  | 'properties.location'

/** A place in its parts. */
export interface FactSource {
  readonly in: 'query' | 'header' | 'body' | 'body.query' | 'properties'
  readonly name: string
}

/** The parts of a place. */
export function parseFactSource(location: FactSourcePath): FactSource {
  const dot = location.lastIndexOf('.')
  return { in: location.slice(0, dot) as FactSource['in'], name: location.slice(dot + 1) }
}

/** A place in words, for messages: `the query parameter "branch"`. */
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

/** A mode or behavior in its one spelling: `ExistOk`, `exist_ok` and LanceDB's `"\"ExistOk\""` are `existok`. */
export function canonicalizeWord(text: string): string {
  return text
    .replace(/^"(.*)"$/, '$1')
    .replaceAll('_', '')
    .toLowerCase()
}

/** A branch in its one spelling: absent and empty is `main` (interface section 7.6). */
export function canonicalizeBranch(branch: string | undefined): string {
  return branch === undefined || branch === '' ? 'main' : branch
}
