import type { Identifier } from '../../catalog-api/identifiers.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import type { Condition } from '../conditions/condition.ts'

/** Callers by their names. */
export interface NamedSubjects {
  /** Names of principals; a service account is the one that its token names. */
  readonly users: readonly string[]
  readonly groups: readonly string[]
  /** Ids of API keys. */
  readonly keys: readonly string[]
}

/** Whom a rule concerns: those who are named, or every authenticated caller, less the exceptions. */
export interface Subjects extends NamedSubjects {
  readonly any: boolean
  /** Whether it concerns callers without a credential, whom nothing else names. */
  readonly anonymous: boolean
  readonly except: NamedSubjects | undefined
}

/** A rule as it was written, groups of operations spelled out. */
export interface PolicyRule {
  readonly id: string
  readonly effect: 'allow' | 'deny'
  readonly subjects: Subjects
  readonly permissions: ReadonlySet<Permission>
  /** Patterns of table names; undefined for the namespace itself and everything beneath it. */
  readonly tables: readonly string[] | undefined
  /** What must hold for the rule to apply; undefined where nothing must. */
  readonly condition: Condition | undefined
  /** Where the rule begins in its file, from 1. */
  readonly line: number
}

/** How a refusal is told: that it is one, or as if the object were not there. */
export type DenialStatus = 403 | 404

/** An AccessPolicy that was read from a file and is valid by itself. */
export interface PolicyDocument {
  readonly name: string
  /** Whether it decides nothing, and is only compared with what is decided without it. */
  readonly isShadow: boolean
  readonly namespace: Identifier
  /** False where what is allowed above does not reach this namespace. */
  readonly inherit: boolean
  /** What policies of namespaces beneath cannot allow. */
  readonly final: ReadonlySet<Permission>
  /** How refusals here and beneath are told; undefined where that is left to the policies above. */
  readonly onDeny: DenialStatus | undefined
  /** The rules, and what is required of commits as rules that deny the others. */
  readonly rules: readonly PolicyRule[]
  /** The file, relative to the folder of policies. */
  readonly file: string
  /** Where the document's name stands in its file. */
  readonly line: number
  readonly column: number
}
