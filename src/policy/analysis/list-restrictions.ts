import type { Identifier } from '../../catalog-api/identifiers.ts'
import type { PolicyDocument } from '../language/policy-document.ts'
import type { VisibleColumns } from '../restrictions/restriction.ts'
import { resolveRestriction } from '../tags/object-tags.ts'
import { findTags } from './find-tags.ts'
import { indexDocuments, matchesAny } from './reaching-rules.ts'

/** A restriction of a policy, and the tables that it is for. */
export interface ListedRestriction {
  /** `POLICY/ID`. */
  readonly name: string
  readonly namespace: Identifier
  /** Names of tables without patterns. */
  readonly tables: readonly string[]
  /** Whether some of its tables are given by a pattern. */
  readonly hasPatterns: boolean
  /** Whether it is for the table of this name in its namespace. */
  readonly covers: (table: string) => boolean
  /** Returns the columns that it leaves of a table in its namespace, by name or by tags. */
  readonly resolveColumns: (table: string) => VisibleColumns
}

/** Lists the restrictions of all documents, which are those in force. */
export function listRestrictions(documents: readonly PolicyDocument[]): readonly ListedRestriction[] {
  const index = indexDocuments(documents)
  return documents.flatMap(({ name: policy, namespace, rules }) =>
    rules.flatMap(({ id, restriction, tables: patterns = [] }) => {
      if (restriction === undefined) return []
      const tables = patterns.filter((pattern) => !pattern.includes('*'))
      return [
        {
          name: `${policy}/${id}`,
          namespace,
          tables,
          hasPatterns: tables.length < patterns.length,
          covers: (table: string) => matchesAny(patterns, table),
          resolveColumns: (table: string) =>
            resolveRestriction(restriction, findTags(index, { namespace, table })).columns,
        },
      ]
    }),
  )
}
