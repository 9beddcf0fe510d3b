import { readFileSync } from 'node:fs'
import { getMembers } from '../lib/index.ts'
import { isOperationName, type OperationName } from './operations.ts'

/** A schema of JSON Schema 2020-12, the dialect of OpenAPI 3.1. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** The schemas of an operation, from the catalog. */
interface OperationSchemas {
  /** The members of the JSON body and of the query. */
  readonly request: JsonSchema
  /** The JSON of a success. */
  readonly response?: JsonSchema
  /** An example of a request that requires a member. */
  readonly example?: Readonly<Record<string, unknown>>
}

interface SchemaFile {
  readonly operations: Readonly<Record<OperationName, OperationSchemas>>
  /** Targets of `#/$defs/` references in the schemas. */
  readonly $defs: Readonly<Record<string, JsonSchema>>
}

/**
 * The schemas of the catalog, as `npm run schema` prints them from those by which it checks requests: the gateway itself
 * needs no more than names and kinds of members.
 */
const file: SchemaFile = JSON.parse(readFileSync(new URL('schemas.json', import.meta.url), 'utf8'))

export const schemaDefinitions = file.$defs

/** Returns undefined for an extra operation, which only the settings describe. */
export function findSchemas(name: string): OperationSchemas | undefined {
  return isOperationName(name) ? file.operations[name] : undefined
}

/** Collects the names of the members of a schema at any depth, also in schemas that it refers to. */
export function collectMemberNames(schema: unknown): ReadonlySet<string> {
  const names = new Set<string>()
  const visited = new Set<unknown>()
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null || visited.has(value)) return
    visited.add(value)
    for (const [key, member] of Object.entries(value)) {
      if (key === 'properties') for (const name of Object.keys(getMembers(member))) names.add(name)
      visit(key === '$ref' ? schemaDefinitions[String(member).replace('#/$defs/', '')] : member)
    }
  }
  visit(schema)
  return names
}
