import type { z } from 'zod'
import { getOperation, operationNames } from '../../catalog-api/operations.ts'
import { getMembers, isObject } from '../../lib/json/json-values.ts'
import { allowOnlyFolders, requireMetadataKeys } from '../conditions/commit-requirements.ts'
import { isConditionError } from '../conditions/condition.ts'
import { unknown } from '../conditions/fact.ts'
import type { FilterExpression } from '../restrictions/filter-expression.ts'
import type { DeclaredTags } from '../tags/object-tags.ts'
import { repair, type Checked, type DocumentReader } from './document-reader.ts'
import type { NamedSubjects, PolicyRule, Subjects } from './policy-document.ts'
import {
  compileRuleCondition,
  formatEnd,
  isWithout,
  parseRows,
  type commitsSchema,
  type PolicySchemas,
  type subjectsSchema,
} from './policy-schema.ts'
import { nothingImplied, type PolicyVocabulary } from './policy-vocabulary.ts'
import type { Position } from './read-yaml.ts'

/*
 * Rules of documents, made of fields that the schemas have checked. Restrictions and commit requirements are deny rules. An
 * error must not lift a deny: a field of it that is mistaken is replaced by the one that denies most.
 */

type WrittenRule = z.output<PolicySchemas['rule']>
type WrittenRestriction = z.output<PolicySchemas['restriction']>
type WrittenSubjects = z.output<typeof subjectsSchema>
type WrittenTags = z.output<PolicySchemas['tags']>

const strictest = {
  subjects: { everyone: true },
  operations: ['all'],
  tables: ['*'],
  columns: {},
}

/** Replaces the mistaken fields of a rule or restriction. */
function repairRule<Written>(read: Checked<Written>, { line, column }: Position): Written {
  // Without an id, it would be lifted.
  return repair(read, { ...strictest, id: `unnamed-${line}-${column}` })
}

/** Creates a rule; none for an allow that is mistaken. */
export function createRule(
  read: Checked<WrittenRule>,
  position: Position,
  vocabulary: PolicyVocabulary,
): PolicyRule | undefined {
  if (!read.isValid && getMembers(read.value)['effect'] !== 'deny') return undefined
  const { id, effect, subjects, operations, tables, when, until, message } = repairRule(read, position)
  const end = effect === 'allow' && until !== undefined ? formatEnd(until) : undefined
  const condition = compileRuleCondition({ when, until: end })
  if (condition !== undefined && isConditionError(condition)) throw new Error(condition.message)
  // Another name, or another namespace, has other tags.
  const includesMoves = tables !== undefined || (condition !== undefined && condition.tags.length > 0)
  return {
    id,
    effect,
    subjects: createSubjects(subjects),
    ...(effect === 'allow'
      ? { permissions: vocabulary.expand(operations, effect), implied: nothingImplied }
      : vocabulary.coverDeny(operations, { includesMoves })),
    tables,
    condition,
    ...(when !== undefined && { when }),
    ...(end !== undefined && { until: end }),
    ...(message !== undefined && { message }),
    ...position,
  }
}

const readingOperations = operationNames.filter((name) => getOperation(name).readsPart !== undefined)

const noRows: FilterExpression = ['false']

/** Creates a rule that denies everything about the tables but reading what the restriction leaves; none of a restriction that is no map. */
export function createRestriction(
  read: Checked<WrittenRestriction>,
  position: Position,
  vocabulary: PolicyVocabulary,
): PolicyRule | undefined {
  if (!isObject(read.value)) return undefined
  const { id, subjects, tables, columns, rows } = repairRule(read, position)
  const { names } = vocabulary.permissions
  const denied = names.filter((name) => !readingOperations.some((reading) => reading === name))
  return {
    id,
    effect: 'deny',
    subjects: createSubjects(subjects),
    ...vocabulary.coverDeny(denied, { includesMoves: true }),
    tables,
    condition: undefined,
    restriction: {
      columns: isWithout(columns) ? { without: columns.without } : new Map(Object.entries(columns)),
      rows: read.isValid ? parseRows(rows, columns) : noRows,
      ...(read.isValid && rows !== undefined && { rowsText: rows }),
    },
    message: `you may read a part of this table only, by ${readingOperations.join(', ')}`,
    ...position,
  }
}

/** Every caller, with a credential or without. */
const everyone: Subjects = {
  users: [],
  groups: [],
  keys: [],
  any: true,
  anonymous: true,
  except: undefined,
}

function createSubjects(written: WrittenSubjects): Subjects {
  const isEveryone = written.everyone ?? false
  return {
    ...createNamedSubjects(written),
    any: written.any ?? isEveryone,
    anonymous: written.anonymous ?? isEveryone,
    except: written.except && createNamedSubjects(written.except),
  }
}

function createNamedSubjects({
  users = [],
  groups = [],
  keys = [],
  serviceAccounts = [],
}: WrittenSubjects): NamedSubjects {
  // The principals in the tokens of the accounts.
  const accounts = serviceAccounts.map((account) =>
    account.replace(/^(.+):(.+)\/(.+)$/, '$1:system:serviceaccount:$2:$3'),
  )
  return { users: [...users, ...accounts], groups, keys }
}

/**
 * Creates rules that deny commits which do not meet the requirements, with the ids `commits.folders` and
 * `commits.metadata`.
 */
export function createCommitRules(
  read: Checked<z.output<typeof commitsSchema>>,
  reader: DocumentReader,
  vocabulary: PolicyVocabulary,
): readonly PolicyRule[] {
  const { folders, metadata, except } = repair(read, {})
  const common = {
    effect: 'deny',
    subjects: { ...everyone, except: except && createNamedSubjects(except) },
    implied: nothingImplied,
    tables: undefined,
  } as const
  if (!read.isValid) {
    // Nothing fulfils a requirement that cannot be read.
    const permissions = vocabulary.expand(['change', 'credentials'], 'deny')
    return [{ ...common, id: 'commits', permissions, condition: undefined, ...reader.position(['commits']) }]
  }
  return [
    ...(folders === undefined ? [] : [['folders', allowOnlyFolders(folders)] as const]),
    ...(metadata === undefined ? [] : [['metadata', requireMetadataKeys(metadata)] as const]),
  ].map(([name, requirement]) => ({
    ...common,
    id: `commits.${name}`,
    ...requirement,
    ...reader.position(['commits', name]),
  }))
}

/** Creates what the field `tags` of a document declares: unknown tags, if it is mistaken. */
export function createTags(read: Checked<WrittenTags>, reader: DocumentReader): DeclaredTags {
  const position = reader.position(['tags'])
  if (!read.isValid) return { namespace: unknown, tables: new Map(), ...position }
  const { namespace, tables = {} } = read.value
  const declared = Object.entries(tables).map(([name, { tags = [], columns = {} }]) => {
    const typed = Object.entries(columns).map(([path, column]) => {
      const { type, tags = [] } = typeof column === 'string' ? { type: column } : column
      return [path, { type, tags }] as const
    })
    return [name, { tags, columns: new Map(typed), ...reader.position(['tags', 'tables'], name) }] as const
  })
  return { namespace, tables: new Map(declared), ...position }
}
