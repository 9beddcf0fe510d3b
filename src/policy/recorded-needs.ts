import type { Details, IntentEntry, RefusalEntry } from '../audit/records.ts'
import type { Identifier } from '../interface/identifiers.ts'
import { operationNamed, type ObjectKind, type OperationName } from '../interface/operations.ts'
import { permissionNames, type Permission } from '../interface/permissions.ts'
import type { RuleReference } from './decision.ts'
import { kindOf } from './object-kind.ts'

/** A call as the log tells it. */
export interface RecordedCall extends Pick<
  IntentEntry,
  'operation' | 'id' | 'principal' | 'client' | 'objects' | 'details' | 'request'
> {
  readonly time: string
  readonly rule?: RuleReference
  readonly wasAllowed: boolean
  /** What was refused, where the log tells. */
  readonly refused?: Permission | undefined
}

/** What a recorded call needed the policies to allow. */
export interface RecordedNeed {
  readonly permission: Permission
  readonly kind: ObjectKind
  readonly id: Identifier
  /** Whether it was needed, or may have been: the log does not tell. */
  readonly certain: boolean
  /** Whether it was needed on everything beneath, too. */
  readonly beneath: boolean
  /** Whether other needs decide where no rule speaks of this one. */
  readonly otherwise: boolean
  /** What the call said of this; undefined where it was not recorded. */
  readonly details: Details | undefined
}

/** Operations that may need something on other objects, which only the record of an allowed change tells. */
export const asksElsewhere: ReadonlySet<OperationName> = new Set<OperationName>([
  'RenameTable',
  'CreateNamespace',
  'DropNamespace',
  'BatchCreateTableVersions',
  'BatchCommitTables',
])

/** Effects that may hide in a query or a header, where a record of an allowed change does not tell of them. */
const hidden: Partial<Record<OperationName, readonly Permission[]>> = {
  CreateTable: ['ChooseLocation'],
  DeclareTable: ['ChooseLocation'],
  MergeInsertIntoTable: ['DeleteFromTable'],
}

/** Effects that a record of an allowed change tells by its mode. */
const overwriting: ReadonlySet<OperationName> = new Set<OperationName>([
  'CreateTable',
  'InsertIntoTable',
  'RegisterTable',
])

/** Everything that the call needed, its own operation first, as far as the log tells. */
export function needsOf(call: RecordedCall): readonly RecordedNeed[] {
  const { operation, id, objects = [], wasAllowed, refused } = call
  const { object, effect } = operationNamed(operation)
  // Of reads, and of what was refused, the log holds no details.
  const details = wasAllowed && effect !== 'read' ? call.details : undefined
  const common = { id, certain: true, beneath: false, otherwise: false, details }
  const isBatch = object === 'none' && effect !== 'read'
  const own: RecordedNeed = { ...common, permission: operation, kind: object, otherwise: isBatch }
  const inner = objects.map((other): RecordedNeed => ({
    ...common,
    permission: other.operation,
    kind: object === 'namespace' ? object : kindOf(other.operation),
    id: other.id,
    beneath: object === 'namespace',
    details: isBatch ? other.details : details,
  }))
  const mode = typeof details?.['mode'] === 'string' ? details['mode'] : ''
  const needsOverwrite =
    overwriting.has(operation) && mode.replaceAll(/[_"]/g, '').toLowerCase() === 'overwrite'
  const others = new Set<Permission>([
    ...(overwriting.has(operation) && (needsOverwrite || !wasAllowed) ? ['OverwriteTable' as const] : []),
    ...(operation === 'RegisterTable' ? ['ChooseLocation' as const] : []),
    ...(hidden[operation] ?? []),
    ...(refused === undefined || refused === operation ? [] : [refused]),
  ])
  const more = [...others]
    .filter((permission) => !inner.some((need) => need.permission === permission))
    .map((permission): RecordedNeed => {
      const certain = permission === refused || (permission === 'OverwriteTable' && needsOverwrite)
      return { ...common, permission, kind: object, certain }
    })
  return [own, ...inner, ...more]
}

/** What was not allowed, by the words of the refusal; it may have been asked of another object. */
export function refusedPermission({ operation, details }: RefusalEntry): Permission | undefined {
  if (operation === undefined || asksElsewhere.has(operation)) return undefined
  const needs = details?.['needs']
  const named = typeof needs === 'string' ? /^you are not allowed (\w+)/.exec(needs)?.[1] : undefined
  return permissionNames.find((permission) => permission === named)
}
