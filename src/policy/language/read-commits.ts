import { readPermissions, readRuleId } from './read-rule.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import {
  allowOnlyBranches,
  allowOnlyFolders,
  freezeChanges,
  requireMetadataKeys,
  denyBranches,
  type ChangePermissions,
  type CommitRequirement,
} from '../conditions/commit-requirements.ts'
import { validateFolder } from '../conditions/storage-path.ts'
import { commitFields, freezeFields, requirementFields } from './policy-fields.ts'
import type { Position } from './yaml/read-yaml.ts'
import { nothingImplied } from './deny-coverage.ts'
import type { PolicyRule } from './policy-document.ts'
import type { PolicyVocabulary } from './policy-vocabulary.ts'
import { everybody, readExceptions } from './read-subjects.ts'
import { readTime } from './read-time.ts'
import {
  anyText,
  createFieldsReader,
  readItems,
  readOptional,
  readNonEmptyTexts,
  type Field,
  type Fields,
  watchProblems,
  type ReportProblem,
} from './field.ts'

const readCommitsFields = createFieldsReader(commitFields)
const readRequirementFields = createFieldsReader(requirementFields)
const readFreezeFields = createFieldsReader(freezeFields)

const requirementKinds = ['metadata', 'branches', 'notBranches', 'folders', 'freeze'] as const

/** Returns the items of `commits.require`, not read yet. */
export function readRequirements(field: Field, report: ReportProblem): readonly Field[] {
  const fields = readCommitsFields(field, report)
  return fields === undefined ? [] : (readItems(fields.get('require'), '[{ id, branches }]', report) ?? [])
}

/** Reads a requirement as a rule that denies the commits that violate it. Reports all errors. */
export function readRequirement(
  field: Field,
  position: Position,
  report: ReportProblem,
  vocabulary: PolicyVocabulary,
): PolicyRule | undefined {
  const fields = readRequirementFields(field, report)
  if (fields === undefined) return undefined
  const id = readRuleId(fields.get('id'), position, report)
  const except = readOptional(fields, 'except', readExceptions, report)
  const wholeTable = readAllowedWholeTable(fields, report, vocabulary)
  const [name, ...more] = requirementKinds.filter((name) => fields.has(name))
  if (name === undefined || more.length > 0) {
    const found =
      name === undefined ? 'has no requirement' : `has the requirements ${[name, ...more].join(' and ')}`
    report(field.offset, `${field.name} ${found}; expected exactly one of ${requirementKinds.join(', ')}`)
  }
  const isSole = name !== undefined && more.length === 0
  const watched = watchProblems(report)
  const requirement = isSole
    ? requirementReaders[name](fields.get(name), watched.report, wholeTable, vocabulary.changes)
    : undefined
  // Nothing fulfils a requirement that cannot be read.
  const { permissions = vocabulary.changes.every, condition } = requirement ?? {}
  return {
    id,
    effect: 'deny',
    subjects: { ...everybody, except },
    permissions,
    implied: nothingImplied,
    tables: undefined,
    condition: watched.hasProblems() ? undefined : condition,
    ...position,
  }
}

function readAllowedWholeTable(
  fields: Fields<keyof typeof requirementFields>,
  report: ReportProblem,
  vocabulary: PolicyVocabulary,
): ReadonlySet<Permission> {
  if (!fields.has('allowWholeTable')) return new Set()
  const field = fields.get('allowWholeTable')
  if (!fields.has('branches') && !fields.has('notBranches')) {
    report(field.offset, `${field.name} is allowed only with "branches" or "notBranches"`)
  }
  const named = readPermissions(field, report, vocabulary)
  const { wholeTable } = vocabulary.changes
  const allowed = new Set([...named].filter((permission) => wholeTable.has(permission)))
  if (named.size > 0 && allowed.size === 0) {
    const expected = [...wholeTable].join(', ')
    report(field.offset, `${field.name} has no whole-table operation; expected any of ${expected}`)
  }
  return allowed
}

type ReadRequirementKind = (
  field: Field,
  report: ReportProblem,
  wholeTable: ReadonlySet<Permission>,
  changes: ChangePermissions,
) => CommitRequirement | undefined

const requirementReaders: Readonly<Record<(typeof requirementKinds)[number], ReadRequirementKind>> = {
  metadata: (field, report) => requireMetadataKeys(readNonEmptyTexts(field, '[ticket]', report, anyText)),
  branches: (field, report, wholeTable, changes) =>
    allowOnlyBranches(readNonEmptyTexts(field, '["ci/*"]', report, anyText), wholeTable, changes),
  notBranches: (field, report, wholeTable, changes) =>
    denyBranches(readNonEmptyTexts(field, '[main]', report, anyText), wholeTable, changes),
  folders: (field, report) =>
    allowOnlyFolders(
      readNonEmptyTexts(field, '["s3://bucket/team"]', report, (folder) => {
        const error = validateFolder(folder)
        return error === undefined ? undefined : (item) => `${item}: ${error}`
      }),
    ),
  freeze: (field, report, _wholeTable, changes) => {
    const fields = readFreezeFields(field, report)
    if (fields === undefined) return undefined
    const from = readOptional(fields, 'from', readTime, report)
    const until = readOptional(fields, 'until', readTime, report)
    if (from !== undefined && until !== undefined && until <= from) {
      report(
        fields.get('until').offset,
        `${fields.get('until').name} is not after ${fields.get('from').name}`,
      )
    }
    return freezeChanges(from, until, changes)
  },
}
