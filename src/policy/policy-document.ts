import type { Identifier } from '../interface/identifiers.ts'
import type { Permission } from '../interface/permissions.ts'

/** Whom a rule concerns: the users, the members of the groups, or every authenticated caller. */
export interface Subjects {
  readonly users: readonly string[]
  readonly groups: readonly string[]
  readonly any: boolean
}

/** A rule as it was written, groups of operations spelled out. */
export interface PolicyRule {
  readonly id: string
  readonly effect: 'allow' | 'deny'
  readonly subjects: Subjects
  readonly permissions: ReadonlySet<Permission>
  /** Patterns of table names; undefined for the namespace itself and everything beneath it. */
  readonly tables: readonly string[] | undefined
  /** Where the rule begins in its file, from 1. */
  readonly line: number
}

/** An AccessPolicy that was read from a file and is valid by itself. */
export interface PolicyDocument {
  readonly name: string
  readonly namespace: Identifier
  /** False where what is allowed above does not reach this namespace. */
  readonly inherit: boolean
  readonly rules: readonly PolicyRule[]
  /** The file, relative to the folder of policies. */
  readonly file: string
  /** Where the document's name stands in its file. */
  readonly line: number
  readonly column: number
}
